// Oracle says what kubectl and the API server make of texts, without a server:
//
//	go run ./oracle <TEXTS >ANSWERS
//
// A line of the input is a text as a JSON string. The line of the output that answers it lists its documents, each with its value or the error of kubectl's
// reader, and for a CustomResourceDefinition the unknown fields, the errors of its validation, and the costs of its rules.
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
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

type document struct {
	Value   json.RawMessage `json:"value,omitempty"`
	Error   string          `json:"error,omitempty"`
	Unknown []string        `json:"unknown,omitempty"`
	Invalid []string        `json:"invalid,omitempty"`
	Costs   []cost          `json:"costs,omitempty"`
}

// cost is what a rule, or the expression of its message, costs once, and how often it is evaluated.
type cost struct {
	Pointer string `json:"pointer"`
	Once    uint64 `json:"once"`
	Count   uint64 `json:"count"`
}

var scheme = runtime.NewScheme()

var base = environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())

var escape = strings.NewReplacer("~", "~0", "/", "~1")

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
	if len(internal.Spec.Versions) == 1 && internal.Spec.Validation != nil {
		schema := internal.Spec.Validation.OpenAPIV3Schema
		answer.Costs = estimated(nil, schema, "", validation.RootCELContext(schema))
	}
}

// estimated adds the costs of the rules of a schema whose rules the API server can compile.
func estimated(costs []cost, schema *apiextensions.JSONSchemaProps, pointer string, place *validation.CELSchemaContext) []cost {
	if info, err := place.TypeInfo(); len(schema.XValidations) > 0 && err == nil && info != nil {
		results, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
		if err != nil {
			log.Fatal(err)
		}
		for i, result := range results {
			at := fmt.Sprintf("%s/x-kubernetes-validations/%d/", pointer, i)
			if result.Program != nil {
				count := result.MaxCardinality
				if place.MaxCardinality != nil {
					count = *place.MaxCardinality
				}
				costs = append(costs, cost{at + "rule", result.MaxCost, count})
			}
			if result.MessageExpression != nil {
				costs = append(costs, cost{at + "messageExpression", result.MessageExpressionMaxCost, 1})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		costs = estimated(costs, &field, pointer+"/properties/"+escape.Replace(name), place.ChildPropertyContext(&field, name))
	}
	if values := schema.AdditionalProperties; values != nil && values.Schema != nil {
		costs = estimated(costs, values.Schema, pointer+"/additionalProperties", place.ChildAdditionalPropertiesContext(values.Schema))
	}
	if items := schema.Items; items != nil && items.Schema != nil {
		costs = estimated(costs, items.Schema, pointer+"/items", place.ChildItemsContext(items.Schema))
	}
	return costs
}
