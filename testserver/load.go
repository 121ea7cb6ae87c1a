package testserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Load reads a scenario from a YAML file.
func Load(file string) (Scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Scenario{}, fmt.Errorf("testserver: scenario: %w", err)
	}
	sc, err := Decode(text)
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", file, err)
	}
	return sc, nil
}

// Decode reads a scenario from YAML or JSON. A key that does not exist is an error, and so is all that Validate
// finds.
func Decode(text []byte) (Scenario, error) {
	var sc Scenario
	if err := decode(text, &sc); err != nil {
		return Scenario{}, err
	}
	return sc, sc.Validate()
}

// decode reads YAML, of which JSON is a part, strictly; nothing at all leaves into as it is.
func decode(text []byte, into any) (err error) {
	defer func() {
		// The YAML library panics on some documents, such as a tag in front of a word where a list belongs.
		if cause := recover(); cause != nil {
			err = fmt.Errorf("testserver: scenario: not readable as YAML: %v", cause)
		}
	}()
	err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict(), durations()).Decode(into)
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	if wrong := (*durationError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("testserver: scenario: %s: %w", whereIs(text, wrong.text), wrong)
	}
	return fmt.Errorf("testserver: scenario: %w", err)
}

// whereIs names the field that holds a value.
func whereIs(text []byte, value string) string {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return "a duration"
	}
	finder := finder{value: value, field: "a duration"}
	for _, doc := range file.Docs {
		ast.Walk(&finder, doc)
	}
	return finder.field
}

// finder visits nodes until it finds the one with a value.
type finder struct {
	value, field string
	found        bool
}

// Visit notes the first scalar that has the value, keys aside.
func (f *finder) Visit(node ast.Node) ast.Visitor {
	if pair, ok := node.(*ast.MappingValueNode); ok && !f.found {
		if v, isScalar := pair.Value.(ast.ScalarNode); isScalar && v.String() == f.value {
			f.field, f.found = path(pair.Value), true
		}
	}
	return f
}
