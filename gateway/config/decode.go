package config

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
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
	d := &decoder{origin: &c.origin, anchors: map[string]ast.Node{}}
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return c, []error{d.syntax(err)}
	}
	docs := slices.DeleteFunc(tree.Docs, func(doc *ast.DocumentNode) bool { return doc.Body == nil })
	if len(docs) > 1 {
		d.fault(docs[1].Body, "", "", "is a second YAML document", "keep one configuration in a file")
	}
	if len(docs) > 0 {
		d.value(docs[0].Body, reflect.ValueOf(c).Elem(), "")
	}
	return c, d.faults
}

// decoder walks the syntax tree along the types, so that it can name every
// fault rather than the first.
type decoder struct {
	origin  *origin
	anchors map[string]ast.Node
	faults  []error
}

// syntax turns a parse error into a fault. It leaves out the excerpt of the
// source, which may hold a password.
func (d *decoder) syntax(err error) error {
	f := &Fault{Pos: d.origin.file, Problem: "is not YAML", Remedy: "check indentation, colons and quotes"}
	if e, ok := errors.AsType[yaml.Error](err); ok {
		f.Problem = "is not YAML: " + e.GetMessage()
		if t := e.GetToken(); t != nil {
			f.Pos = d.origin.format(position{t.Position.Line, t.Position.Column})
		}
	}
	return f
}

func (d *decoder) fault(n ast.Node, path, value, problem, remedy string) {
	at := placeOf(n)
	d.faults = append(d.faults, &Fault{
		Pos: d.origin.format(at), Path: path, Value: value, Problem: problem, Remedy: remedy, at: at,
	})
	if path != "" {
		d.origin.said[path] = true
	}
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
	for {
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
		if _, ok := it.Key().(*ast.MergeKeyNode); ok {
			if base, ok := d.resolve(it.Value(), path).(ast.MapNode); ok {
				merged = append(merged, d.entries(base, path)...)
				continue
			}
			d.fault(it.Key(), path, "<<", "does not merge a mapping", "write <<: *name of a mapping")
			continue
		}
		name, ok := scalarText(it.Key())
		if !ok {
			d.fault(it.Key(), path, "", "has a key that is not a word", "use a plain name")
			continue
		}
		if seen[name] {
			d.fault(it.Key(), join(path, name), "", "is there twice", "remove one")
			continue
		}
		seen[name] = true
		own = append(own, entry{it.Key(), name, it.Value()})
	}
	return append(merged, own...)
}

// fields decodes a mapping into a struct.
func (d *decoder) fields(m ast.MapNode, v reflect.Value, path string) {
	known := fieldsByKey(v.Type())
	for _, e := range d.entries(m, path) {
		at := join(path, e.name)
		i, ok := known[e.name]
		if !ok {
			d.unknown(e, at, path, slices.Sorted(maps.Keys(known)))
			continue
		}
		d.origin.at[at] = placeOf(e.key)
		d.value(e.val, v.Field(i), at)
	}
}

func (d *decoder) unknown(e entry, at, path string, known []string) {
	remedy := "known here: " + strings.Join(known, ", ")
	if near := nearest(e.name, known); near != "" {
		remedy = "did you mean " + near + "?"
		d.origin.said[join(path, near)] = true
	}
	d.fault(e.key, at, "", "is not a known key", remedy)
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
		d, err := parseDuration(text)
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
