// Catalogue prints what an API server declares for the CEL rules of CRDs, an overload or a variable a line:
//
//	cargo xtask catalogue --update
//
//	25 size list(<A>).() int            of a member: [].size()
//	25 size (list(<A>)) int             of a function: size([])
//	25 int type(int)                    a variable
//
// The number is the first minor version of Kubernetes that accepts it in a new CRD. The overloads of a function are in the order in which the
// API server tries them.
package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

const oldest = 25

func main() {
	// a server accepts in new CRDs what its predecessor knows
	newest := environment.DefaultCompatibilityVersion().Minor() + 1
	since := map[string]uint{}
	var lines []string
	for minor := uint(oldest); minor <= newest; minor++ {
		lines = declared(environment.MustBaseEnvSet(version.MajorMinor(1, minor-1)).NewExpressionsEnv())
		for _, line := range lines {
			if _, isKnown := since[line]; !isKnown {
				since[line] = minor
			}
		}
	}
	for _, line := range lines {
		fmt.Println(since[line], line)
	}
}

func declared(env *cel.Env) (lines []string) {
	// types that functions use, whose names some libraries declare
	names := map[string]bool{}
	functions := env.Functions()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		for _, overload := range functions[name].OverloadDecls() {
			for _, used := range append(overload.ArgTypes(), overload.ResultType()) {
				names[used.TypeName()] = true
			}
			receiver, arguments := "", overload.ArgTypes()
			if overload.IsMemberFunction() {
				receiver, arguments = text(arguments[0])+".", arguments[1:]
			}
			texts := make([]string, len(arguments))
			for i, argument := range arguments {
				texts[i] = text(argument)
			}
			lines = append(lines, fmt.Sprintf("%s %s(%s) %s", name, receiver, strings.Join(texts, ","), text(overload.ResultType())))
		}
	}
	var variables []string
	for _, variable := range env.Variables() {
		variables = append(variables, variable.Name()+" "+text(variable.Type()))
		delete(names, variable.Name())
	}
	for name := range names {
		if value, found := env.CELTypeProvider().FindIdent(name); found {
			variables = append(variables, name+" "+text(types.NewTypeTypeWithParam(value.(*types.Type))))
		}
	}
	slices.Sort(variables)
	return append(lines, slices.Compact(variables)...)
}

func text(t *cel.Type) string {
	return strings.ReplaceAll(t.String(), ", ", ",")
}
