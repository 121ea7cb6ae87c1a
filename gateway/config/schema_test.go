package config

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sluice/classify"
)

const schemaFile = "../../configs/sluice.schema.json"

// TestSchemaIsCurrent keeps configs/sluice.schema.json equal to the types.
// `make schema` writes it anew.
func TestSchemaIsCurrent(t *testing.T) {
	g := schemaWriter{docs: fieldDocs(t)}
	root := g.object(reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Configuration of the Sluice SMPP gateway"
	root["required"] = []string{"accounts"}
	want, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if os.Getenv("SLUICE_WRITE_SCHEMA") != "" {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("configs/sluice.schema.json differs from the types: run make schema")
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	docs := fieldDocs(t)
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Config](), reflect.TypeFor[NATS](), reflect.TypeFor[Embedded](), reflect.TypeFor[Credentials](),
		reflect.TypeFor[CertFiles](), reflect.TypeFor[Streams](), reflect.TypeFor[Route](), reflect.TypeFor[Account](),
	} {
		for f := range typ.Fields() {
			if f.Tag.Get("yaml") != "" && docs[typ.Name()+"."+f.Name] == "" {
				t.Errorf("%s.%s has no comment", typ.Name(), f.Name)
			}
		}
	}
}

type schemaWriter struct{ docs map[string]string }

type schema map[string]any

// of is the schema of one type.
func (g schemaWriter) of(t reflect.Type) schema {
	const number = `[0-9]+(\.[0-9]+)?`
	const duration = `([0-9]+d)?(` + number + `(ns|us|µs|ms|s|m|h))*`
	pattern := func(p string) schema { return schema{"type": "string", "pattern": "^" + p + "$"} }
	text := schema{"type": "string"}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return pattern(duration)
	case reflect.TypeFor[Size]():
		return schema{"type": []string{"string", "integer"}, "pattern": "^" + number + " *(B|kB|[MGT]B|[KMGT]iB)?$"}
	case reflect.TypeFor[Percent]():
		return schema{"anyOf": []schema{pattern(number + " *%"), {"const": 0}}}
	case reflect.TypeFor[Allowance]():
		return pattern("[0-9]+/" + duration)
	case reflect.TypeFor[Sync]():
		return schema{"anyOf": []schema{{"const": "always"}, pattern(duration)}}
	case reflect.TypeFor[Weight]():
		return schema{"anyOf": []schema{{"const": "strict"}, {"type": "integer", "minimum": 1, "maximum": 100}}}
	case reflect.TypeFor[Version]():
		return schema{"enum": []any{3.4, 5, "3.4", "5.0"}}
	case reflect.TypeFor[Mark]():
		return schema{"enum": []any{"auto", true, false}}
	case reflect.TypeFor[Secret]():
		return schema{"anyOf": []schema{text, g.object(t)}}
	case reflect.TypeFor[Status]():
		return schema{"anyOf": []schema{g.of(reflect.TypeFor[classify.Class]()), g.object(t)}}
	case reflect.TypeFor[classify.Class]():
		var words []string
		for _, c := range classify.Classes() {
			words = append(words, c.String())
		}
		return schema{"enum": words}
	}
	if c, ok := reflect.TypeAssert[interface{ words() []string }](reflect.Zero(t)); ok {
		return schema{"enum": c.words()}
	}
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int:
		return schema{"type": "integer"}
	case reflect.Uint8:
		return schema{"type": "integer", "minimum": 0, "maximum": 255}
	case reflect.Float64:
		return schema{"type": "number"}
	case reflect.Slice:
		return schema{"anyOf": []schema{g.of(t.Elem()), {"type": "array", "items": g.of(t.Elem())}}}
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": g.of(t.Elem())}
	default:
		return g.object(t)
	}
}

func (g schemaWriter) object(t reflect.Type) schema {
	properties := map[string]schema{}
	for f := range t.Fields() {
		key := f.Tag.Get("yaml")
		if key == "" {
			continue
		}
		s := g.of(f.Type)
		if doc := g.docs[t.Name()+"."+f.Name]; doc != "" {
			s["description"] = doc
		}
		properties[key] = s
	}
	out := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if t == reflect.TypeFor[Account]() {
		out["required"] = []string{"address", "system_id", "password"}
	}
	return out
}

// fieldDocs reads the comments of the package's fields, by Type.Field, so that
// they are the descriptions in the schema.
func fieldDocs(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						docs[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return docs
}
