package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestExamplesLoad(t *testing.T) {
	t.Setenv("ACME_PASSWORD", "secret")
	for name, warnings := range map[string]int{"minimal.yaml": 0, "sluice.yaml": 1} { // the default is no TLS
		c, err := Load(filepath.Join("../../configs", name))
		if err != nil {
			t.Errorf("%s:\n%v", name, err)
			continue
		}
		if w := c.Warnings(); len(w) != warnings {
			t.Errorf("%s: %q", name, w)
		}
	}
}

// TestFullExampleNamesEveryKey holds configs/sluice.yaml complete, comments
// counted.
func TestFullExampleNamesEveryKey(t *testing.T) {
	data, err := os.ReadFile("../../configs/sluice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, minimal, "ACME_PASSWORD=x")
	eachValue(reflect.ValueOf(c).Elem(), "", func(path string, _ reflect.Value) {
		key := path[strings.LastIndexByte(path, '.')+1:]
		if !strings.Contains(string(data), key+":") {
			t.Errorf("configs/sluice.yaml does not name %s", path)
		}
	})
}

func TestFullExampleShowsTheDefaults(t *testing.T) {
	t.Setenv("ACME_PASSWORD", "secret")
	full, err := Load("../../configs/sluice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	least, err := Load("../../configs/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// These have no default, or the example sets them to show how.
	least.Instance = full.Instance
	a, b := least.Accounts["acme"], full.Accounts["acme"]
	a.Address, a.Statuses, a.Rate.Declared, a.Window = b.Address, b.Statuses, b.Rate.Declared, b.Window
	want, err := least.Effective()
	if err != nil {
		t.Fatal(err)
	}
	got, err := full.Effective()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the example says\n%s\nthe defaults are\n%s", got, want)
	}
}
