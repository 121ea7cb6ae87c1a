package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Decode reads YAML strictly on top of the defaults. It goes on after a fault:
// the error joins one [*Fault] for each unknown key and each value of the
// wrong form, and the configuration holds all the rest. Secrets that live in
// the environment or in files are not looked up, and nothing is validated:
// see [Load] and [Config.Validate].
func Decode(data []byte) (*Config, error) {
	c, faults := decode("", data)
	c.complete()
	return c, joined(faults)
}

func decode(file string, data []byte) (*Config, []error) {
	c := defaults()
	c.origin = origin{file: file, at: map[string]position{}, said: map[string]bool{}}
	d := &decoder{origin: &c.origin, anchors: map[string]ast.Node{}, merging: map[ast.MapNode]bool{}}
	d.guarded(func() {
		if body := d.parse(bytes.TrimPrefix(data, []byte(byteOrderMark))); body != nil {
			d.value(body, reflect.ValueOf(c).Elem(), "")
		}
	})
	return c, d.faults
}

// decoder walks the syntax tree along the types, so that it can name every
// fault rather than the first.
type decoder struct {
	origin  *origin
	anchors map[string]ast.Node
	merging map[ast.MapNode]bool // the mappings whose merge keys are being followed
	faults  []error
}

// fault notes that the value at path could not be taken: what validation would say of it is left out.
func (d *decoder) fault(n ast.Node, path, value, problem, remedy string) {
	d.remark(n, path, value, problem, remedy)
	if path != "" {
		d.origin.said[path] = true
	}
}

// remark notes a fault that leaves the value at path, or what is known of it, in force.
func (d *decoder) remark(n ast.Node, path, value, problem, remedy string) {
	at := placeOf(n)
	d.faults = append(d.faults, &Fault{
		Pos: d.origin.format(at), Path: path, Value: value, Problem: problem, Remedy: remedy, at: at,
	})
}

func placeOf(n ast.Node) position {
	var t *token.Token
	if m, ok := n.(ast.MapNode); ok {
		if it := m.MapRange(); it.Next() {
			t = it.Key().GetToken()
		}
	}
	if t == nil {
		t = n.GetToken()
	}
	if t == nil || t.Position == nil {
		return position{1, 1}
	}
	return position{t.Position.Line, t.Position.Column}
}

// value decodes n into v, which is settable.
func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	n = d.resolve(n, path)
	if n == nil {
		return
	}
	if _, ok := n.(*ast.NullNode); ok {
		if path != "" {
			d.fault(n, path, "", "has no value", "write one, or leave the key out for its default")
		}
		return
	}
	if v.Kind() == reflect.Slice {
		d.list(n, v, path)
		return
	}
	if text, ok := scalarText(n); ok {
		if err := setText(v, text); err != nil {
			d.wrongText(n, v, path, text, err)
		}
		return
	}
	m, ok := n.(ast.MapNode)
	switch {
	case !ok:
		d.fault(n, path, "", "is a list", "write "+form(v.Type()))
	case v.Kind() == reflect.Map:
		d.mapping(m, v, path)
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[Allowance]():
		d.fields(m, v, path)
	default:
		d.fault(n, path, "", "is a mapping", "write "+form(v.Type()))
	}
}

func (d *decoder) wrongText(n ast.Node, v reflect.Value, path, text string, err error) {
	if _, secret := reflect.TypeAssert[Secret](v); secret {
		text = ""
	}
	if e, ok := errors.AsType[*valueError](err); ok {
		d.fault(n, path, text, e.problem, e.remedy)
		return
	}
	d.fault(n, path, "", err.Error(), "")
}

// resolve follows anchors, aliases and tags.
func (d *decoder) resolve(n ast.Node, path string) ast.Node {
	for start, steps := n, 0; ; steps++ {
		if steps > deepest {
			d.fault(start, path, "", "stands for itself", "write a value in place of the alias")
			return nil
		}
		switch t := n.(type) {
		case *ast.AnchorNode:
			d.anchors[t.Name.GetToken().Value] = t.Value
			n = t.Value
		case *ast.AliasNode:
			name := t.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				d.fault(n, path, "*"+name, "has no anchor above it", "define &"+name+" first")
				return nil
			}
			n = target
		case *ast.TagNode:
			n = t.Value
		default:
			return n
		}
	}
}

// list decodes a sequence; a single value is a list of one.
func (d *decoder) list(n ast.Node, v reflect.Value, path string) {
	nodes := []ast.Node{n}
	if s, ok := n.(*ast.SequenceNode); ok {
		nodes = s.Values
	}
	out := reflect.MakeSlice(v.Type(), len(nodes), len(nodes))
	for i, item := range nodes {
		at := path
		if len(nodes) > 1 {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		d.origin.at[at] = placeOf(item)
		d.value(item, out.Index(i), at)
	}
	v.Set(out)
}

// entry is one key of a mapping.
type entry struct {
	key  ast.Node
	name string
	val  ast.Node
}

// entries lists a mapping's keys; those of a merge key come first, so that the
// mapping's own win.
func (d *decoder) entries(m ast.MapNode, path string) []entry {
	var merged, own []entry
	seen := map[string]bool{}
	for it := m.MapRange(); it.Next(); {
		key := it.Key()
		name, ok := scalarText(key)
		if _, merge := key.(*ast.MergeKeyNode); merge {
			name, ok = "<<", true
		}
		switch {
		case !ok:
			d.remark(key, path, "", "has a key that is not a word", "use a plain name")
		case seen[name]:
			d.remark(key, join(path, name), "", "is there twice", "remove one")
		case name == "<<":
			merged = d.mergedEntries(key, it.Value(), m, path)
		default:
			own = append(own, entry{key, name, it.Value()})
		}
		seen[name] = ok
	}
	return append(merged, own...)
}

// mergedEntries lists the keys of the mapping that the merge key of m names. One that contains m would never end.
func (d *decoder) mergedEntries(key, val ast.Node, m ast.MapNode, path string) []entry {
	base, ok := d.resolve(val, path).(ast.MapNode)
	if !ok {
		d.remark(key, join(path, "<<"), "", "does not merge a mapping", "write <<: *name of a mapping")
		return nil
	}
	d.merging[m] = true
	defer delete(d.merging, m)
	switch {
	case d.merging[base]:
		d.remark(key, join(path, "<<"), "", "merges a mapping into itself", "name another mapping")
	case len(d.merging) > deepest:
		d.remark(key, join(path, "<<"), "", fmt.Sprintf("merges a mapping that merges another, more than %d times", deepest), "merge fewer")
	default:
		return d.entries(base, path)
	}
	return nil
}

// fields decodes a mapping into a struct.
func (d *decoder) fields(m ast.MapNode, v reflect.Value, path string) {
	known := fieldsByKey(v.Type())
	entries := d.entries(m, path)
	given := map[string]bool{}
	for _, e := range entries {
		given[e.name] = true
	}
	for _, e := range entries {
		at := join(path, e.name)
		i, ok := known[e.name]
		if !ok {
			near := nearest(e.name, slices.Sorted(maps.Keys(known)))
			d.unknown(e, at, near, known)
			if near == "" || given[near] {
				continue // the key that was meant is judged by itself
			}
			at, i = join(path, near), known[near]
			if !isSection(v.Field(i)) {
				d.origin.said[at] = true // it is misspelt, not missing
				continue
			}
			// A section is read all the same: what is in it may have faults of its own.
		}
		d.origin.at[at] = placeOf(e.key)
		d.value(e.val, v.Field(i), at)
	}
}

// isSection says whether v is a mapping and nothing else.
func isSection(v reflect.Value) bool {
	if _, scalar := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); scalar {
		return false
	}
	return v.Kind() == reflect.Struct || v.Kind() == reflect.Map
}

func (d *decoder) unknown(e entry, at, near string, known map[string]int) {
	remedy := "known here: " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
	if near != "" {
		remedy = "did you mean " + near + "?"
	}
	d.remark(e.key, at, "", "is not a known key", remedy)
}

// mapping decodes a mapping into a map; an element starts from its defaults.
func (d *decoder) mapping(m ast.MapNode, v reflect.Value, path string) {
	out := reflect.MakeMap(v.Type())
	for _, e := range d.entries(m, path) {
		at := join(path, e.name)
		d.origin.at[at] = placeOf(e.key)
		elem := reflect.New(v.Type().Elem()).Elem()
		target := elem
		if elem.Kind() == reflect.Pointer {
			elem.Set(reflect.New(elem.Type().Elem()))
			target = elem.Elem()
			if p, ok := reflect.TypeAssert[interface{ setDefaults() }](elem); ok {
				p.setDefaults()
			}
		}
		d.value(e.val, target, at)
		out.SetMapIndex(reflect.ValueOf(e.name), elem)
	}
	v.Set(out)
}

// fieldsByKey maps YAML keys to field indexes.
func fieldsByKey(t reflect.Type) map[string]int {
	known := map[string]int{}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" {
			known[key] = i
		}
	}
	return known
}

// scalarText is the text of a scalar as it was written: 0123 stays 0123.
func scalarText(n ast.Node) (string, bool) {
	switch t := n.(type) {
	case *ast.StringNode:
		return t.Value, true
	case *ast.LiteralNode:
		return t.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

// setText sets v from the text of a scalar.
func setText(v reflect.Value, text string) error {
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return u.UnmarshalText([]byte(text))
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := ParseDuration(text)
		v.SetInt(int64(d))
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return &valueError{"is not a switch", "write true or false"}
		}
		v.SetBool(text == "true")
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return &valueError{"is not a whole number", "write digits only"}
		}
		v.SetInt(int64(n))
	case reflect.Uint8:
		n, err := strconv.ParseUint(text, 10, 8)
		if err != nil {
			return &valueError{"is not an octet", "write a number from 0 to 255"}
		}
		v.SetUint(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n-n != 0 {
			return &valueError{"is not a number", "write it in digits, for example 100"}
		}
		v.SetFloat(n)
	default:
		return &valueError{"is a single value", "write " + form(v.Type())}
	}
	return nil
}

// form says how a value of type t is written.
func form(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Map:
		return "a mapping of names"
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[Allowance]():
		keys := slices.Sorted(maps.Keys(fieldsByKey(t)))
		return "a mapping with " + strings.Join(keys, ", ")
	default:
		return "a single value"
	}
}
