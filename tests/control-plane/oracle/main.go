// Oracle says what kubectl and the API server make of texts, without a server:
//
//	go run ./oracle <TEXTS >ANSWERS
//
// A line of the input is a text as a JSON string. The line of the output that answers it lists its documents, each with its value or the error of kubectl's
// reader, and for a CustomResourceDefinition the unknown fields and the errors of its validation.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

type document struct {
	Value   json.RawMessage `json:"value,omitempty"`
	Error   string          `json:"error,omitempty"`
	Unknown []string        `json:"unknown,omitempty"`
	Invalid []string        `json:"invalid,omitempty"`
}

var scheme = runtime.NewScheme()

func main() {
	install.Install(scheme)
	input, output := json.NewDecoder(bufio.NewReader(os.Stdin)), bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(output)
	for {
		var text string
		if err := input.Decode(&text); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(documents(text)); err != nil {
			log.Fatal(err)
		}
		if err := output.Flush(); err != nil {
			log.Fatal(err)
		}
	}
}

func documents(text string) []document {
	found := []document{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		part, err := reader.Read()
		if err == io.EOF {
			return found
		}
		if err == nil && len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		var value []byte
		if err == nil {
			value, err = yaml.YAMLToJSON(part)
		}
		if err != nil {
			found = append(found, document{Error: err.Error()})
			if errors.Is(err, bufio.ErrTooLong) {
				return found
			}
			continue
		}
		answer := document{Value: value}
		var head struct{ APIVersion, Kind string }
		if json.Unmarshal(value, &head) == nil && head.Kind == "CustomResourceDefinition" {
			judge(value, &answer)
		}
		found = append(found, answer)
	}
}

// judge validates as the API server does when a CRD is created.
func judge(value []byte, answer *document) {
	// which the API server answers with an error
	defer func() {
		if failure := recover(); failure != nil {
			answer.Invalid = append(answer.Invalid, fmt.Sprint(failure))
		}
	}()
	var external v1.CustomResourceDefinition
	unknown, err := kjson.UnmarshalStrict(value, &external)
	if err != nil {
		answer.Invalid = []string{err.Error()}
		return
	}
	for _, err := range unknown {
		answer.Unknown = append(answer.Unknown, err.Error())
	}
	// the defaults of the whole object, else the ports of webhooks are 0
	scheme.Default(&external)
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&external, &internal, nil); err != nil {
		answer.Invalid = []string{err.Error()}
		return
	}
	// as the strategy of a creation does, whose package would take minutes to compile
	internal.Status = apiextensions.CustomResourceDefinitionStatus{}
	for _, version := range internal.Spec.Versions {
		if version.Storage {
			internal.Status.StoredVersions = []string{version.Name}
			break
		}
	}
	for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), &internal) {
		answer.Invalid = append(answer.Invalid, err.Error())
	}
}
