package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// environmentPrefix starts the name of every variable that overrides a key.
const environmentPrefix = "SLUICE_"

// override sets keys from variables named after their path:
// SLUICE_ACCOUNTS_ACME_PASSWORD is accounts.acme.password. Every key that
// takes a single value can be set this way; accounts and routes must be in
// the file.
func (c *Config) override(env map[string]string) []error {
	targets := map[string][]target{}
	eachValue(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
		name := variableName(path)
		targets[name] = append(targets[name], target{path, v})
	})
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(env)) {
		found := targets[name]
		switch len(found) {
		case 0:
			if f := c.strayVariable(name, targets); f != nil {
				faults = append(faults, f)
			}
		case 1:
			if f := found[0].set(name, env[name]); f != nil {
				c.origin.said[found[0].path] = true
				faults = append(faults, f)
			}
		default:
			faults = append(faults, &Fault{
				Pos: "environment", Path: name,
				Problem: fmt.Sprintf("could mean %s or %s", found[0].path, found[1].path),
				Remedy:  "set the key in the file",
			})
		}
	}
	return faults
}

// strayVariable reports a variable that reads like an override of an account,
// a route or another section but fits none. Other names with the prefix are
// left alone: container platforms make their own, such as SLUICE_SERVICE_HOST.
func (c *Config) strayVariable(name string, targets map[string][]target) error {
	for _, section := range []string{"ACCOUNTS_", "ROUTES_", "NATS_", "STREAMS_"} {
		if strings.HasPrefix(name, environmentPrefix+section) {
			remedy := "name a key of the file in capitals, its parts joined by _"
			if near := nearest(name, slices.Sorted(maps.Keys(targets))); near != "" {
				remedy = "did you mean " + near + "?"
			}
			return &Fault{Pos: "environment", Path: name, Problem: "fits no key of the configuration", Remedy: remedy}
		}
	}
	return nil
}

type target struct {
	path string
	v    reflect.Value
}

func (t target) set(name, text string) error {
	var err error
	if t.v.Kind() == reflect.Slice {
		t.v.Set(reflect.ValueOf(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })))
	} else {
		err = setText(t.v, text)
	}
	if s, ok := reflect.TypeAssert[*Secret](t.v.Addr()); ok {
		s.plain = false // the file holds no literal, so there is nothing to warn about
		text = ""
	}
	if e, ok := errors.AsType[*valueError](err); ok {
		return &Fault{Pos: "environment", Path: name, Value: text, Problem: e.problem, Remedy: e.remedy}
	}
	return err
}

func variableName(path string) string {
	return environmentPrefix + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return '_'
	}, path)
}

// eachValue visits every key below v that takes a single value or a list.
func eachValue(v reflect.Value, path string, visit func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		eachValue(v.Elem(), path, visit)
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.Pointer {
			return // statuses and classes: the keys are data
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			eachValue(v.MapIndex(key), join(path, key.String()), visit)
		}
	case reflect.Struct:
		_, allowance := reflect.TypeAssert[Allowance](v)
		_, secret := reflect.TypeAssert[Secret](v)
		if allowance || secret {
			visit(path, v)
		}
		if allowance {
			return
		}
		for i := range v.NumField() {
			if key := v.Type().Field(i).Tag.Get("yaml"); key != "" {
				eachValue(v.Field(i), join(path, key), visit)
			}
		}
	default:
		visit(path, v)
	}
}
