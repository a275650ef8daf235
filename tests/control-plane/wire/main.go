// Wire prints how built-in kinds are written as protobuf, a type a line, for the server of operator-testing:
//
//	go run ./wire >../../crates/operator-apiserver/data/wire.json
//
// A field is `number: [name in JSON, type]`; the name is empty where JSON has the fields of the message in its place. Types are
// s string, b bool, i integer, d double, y bytes, t time, u time with fractions, q quantity, n int or string, r JSON, l message of
// strings, or the name of a message; after [] for lists, {} for maps by string, ? where zero is not absence, ! where zero is written.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():          "t",
	reflect.TypeFor[metav1.MicroTime]():     "u",
	reflect.TypeFor[resource.Quantity]():    "q",
	reflect.TypeFor[intstr.IntOrString]():   "n",
	reflect.TypeFor[metav1.FieldsV1]():      "r",
	reflect.TypeFor[runtime.RawExtension](): "r",
}

var types = map[string]map[string][2]string{}

func main() {
	stable := regexp.MustCompile(`^v[0-9]+$`)
	for kind, type_ := range scheme.Scheme.AllKnownTypes() {
		if stable.MatchString(kind.Version) && !strings.HasSuffix(kind.Kind, "List") {
			if _, isObject := reflect.PointerTo(type_).MethodByName("GetObjectMeta"); isObject {
				message(type_)
			}
		}
	}
	message(reflect.TypeFor[metav1.DeleteOptions]())
	names := make([]string, 0, len(types))
	for name := range types {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Println("{")
	for at, name := range names {
		fields, err := json.Marshal(types[name])
		if err != nil {
			log.Fatal(err)
		}
		end := ","
		if at == len(names)-1 {
			end = ""
		}
		fmt.Printf("%q:%s%s\n", name, fields, end)
	}
	fmt.Println("}")
}

// The name that OpenAPI has for a type.
func name(type_ reflect.Type) string {
	parts := strings.Split(type_.PkgPath(), "/")
	host := strings.Split(parts[0], ".")
	slices.Reverse(host)
	return strings.Join(append(host, append(parts[1:], type_.Name())...), ".")
}

func message(type_ reflect.Type) string {
	key := name(type_)
	if _, known := types[key]; known {
		return key
	}
	fields := map[string][2]string{}
	types[key] = fields
	for at := range type_.NumField() {
		field := type_.Field(at)
		number := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(number) < 2 {
			continue
		}
		options := strings.Split(field.Tag.Get("json"), ",")
		written := base(field.Type)
		if !slices.Contains(options, "omitempty") && options[0] != "" {
			written = "!" + written
		}
		fields[number[1]] = [2]string{options[0], written}
	}
	return key
}

func base(type_ reflect.Type) string {
	if written, isSpecial := special[type_]; isSpecial {
		return written
	}
	switch type_.Kind() {
	case reflect.Pointer:
		return "?" + base(type_.Elem())
	case reflect.Map:
		return "{}" + base(type_.Elem())
	case reflect.Slice:
		if type_.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		if _, isMessage := reflect.PointerTo(type_).MethodByName("Marshal"); isMessage {
			return "l"
		}
		return "[]" + base(type_.Elem())
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Uint8:
		return "i"
	case reflect.Float64:
		return "d"
	case reflect.Struct:
		return message(type_)
	}
	log.Fatalf("no word for %v", type_)
	return ""
}
