package config

import (
	"bytes"
	"testing"
)

// FuzzLoad holds that no text breaks the reader, and that what it accepts is
// printed in a form that it accepts again.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", minimal, "accounts: {acme: {address: 'h:1', system_id: s, password: p}}",
		"a: &a {<<: *a}", "accounts:\n  acme: &x\n    <<: *x\n", "accounts: {a: &a {<<: *b}, b: &b {<<: *a}}", "faults: !00 00", "\uFEFFhttp: off", "accounts: &x {acme: *x}", "? [a]\n: b", "!!binary x", "accounts: {<<: [1]}", "---\n---\n", "\xff", "streams: {max_bytes: 1e30GiB}",
		"accounts: {acme: {address: 'h:1', system_id: s, password: p, rate: {declared: 1e3}, noise: {max: 1e-7%}, validity: {min: 1.5s}}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := load("f.yaml", ".", data, nil)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		first, err := c.Effective()
		if err != nil {
			t.Fatal(err)
		}
		again, err := load("f.yaml", ".", first, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, first)
		}
		second, err := again.Effective()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("printed:\n%s\nread back:\n%s", first, second)
		}
	})
}
