package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What must end with one clear fault, and not with the end of the process.
func TestTextsThatCannotBeFollowed(t *testing.T) {
	chain := &strings.Builder{}
	chain.WriteString("accounts:\n  a0: &a0 {address: 'h:1', system_id: s, password: p}\n")
	for i := range 80 {
		fmt.Fprintf(chain, "  a%d: &a%d {<<: *a%d}\n", i+1, i+1, i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"merge of itself":       {"accounts:\n  acme: &x\n    <<: *x\n", "sluice.yaml:3:5: accounts.acme.<<: merges a mapping into itself"},
		"merge of two in turn":  {"accounts:\n  acme: &x\n    <<: &y\n      <<: *x\n", "accounts.acme.<<: merges a mapping into itself"},
		"merge at the top":      {"<<: &x {<<: *x}", "<<: merges a mapping into itself"},
		"many merges":           {chain.String(), ".<<: merges a mapping that merges another, more than 64 times"},
		"two merge keys":        {"accounts:\n  a: &a {address: 'h:1', system_id: s, password: p}\n  b: {<<: *a, <<: *a}\nroutes: {main: {accounts: a}, b: {accounts: b}}", "sluice.yaml:3:15: accounts.b.<<: is there twice"},
		"merge of a word":       {"accounts: {acme: {<<: x, address: 'h:1', system_id: s, password: p}}", "accounts.acme.<<: does not merge a mapping"},
		"brackets":              {strings.Repeat("[", 1<<19), "sluice.yaml:1:65: is nested more than 64 levels deep"},
		"braces":                {strings.Repeat("{a: ", 1<<17), "nested more than 64 levels deep"},
		"dashes":                {strings.Repeat("- ", 1<<18), "sluice.yaml:1:129: is nested more than 64 levels deep"},
		"dashes in brackets":    {"[" + strings.Repeat("- ", 1<<18), "nested more than 64 levels deep"},
		"questions":             {strings.Repeat("? ", 1<<18), "nested more than 64 levels deep"},
		"questions in brackets": {"[" + strings.Repeat("? ", 1<<18), "nested more than 64 levels deep"},
		"colons":                {strings.Repeat("a: ", 1<<18), "nested more than 64 levels deep"},
		"anchors":               {"a: " + strings.Repeat("&a ", 1<<18), "nested more than 64 levels deep"},
		"anchors, line by line": {strings.Repeat("&a\n", 1<<18), "nested more than 64 levels deep"},
		"tags":                  {"a: " + strings.Repeat("!a ", 1<<18), "nested more than 64 levels deep"},
		"a long line":           {strings.Repeat(`"" `, 1<<18), "has too many values on one line; write one key a line"},
	} {
		t.Run(name, func(t *testing.T) {
			got := faults(t, c.text)
			if !strings.Contains(strings.Join(got, "\n"), c.want) {
				t.Errorf("got:\n%s\nwant a line with: %s", strings.Join(got, "\n"), c.want)
			}
		})
	}
	indented := &strings.Builder{}
	for i := range 100 {
		indented.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	if got := faults(t, indented.String()); !strings.Contains(got[0], "sluice.yaml:65:66: is nested more than 64 levels deep") {
		t.Errorf("indented: %s", got)
	}
}

func TestPanicOfTheLibraryIsAFault(t *testing.T) {
	d := &decoder{origin: &origin{file: "sluice.yaml", said: map[string]bool{}}}
	d.guarded(func() { panic("index out of range in `password: secret`") })
	if err := joined(d.faults); err == nil || err.Error() != "sluice.yaml: is not YAML that can be read; check tags (!), anchors (&) and quotes" {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{"accounts: !00 00", "a: !00 00", "!", "{!00 00: 1}"} {
		faults(t, text)
	}
}

func TestWideTextsAreNoDeepOnes(t *testing.T) {
	wide := &strings.Builder{}
	wide.WriteString("accounts:\n")
	for i := range 200 {
		fmt.Fprintf(wide, "  a%d: &a%d\n    address:\n    - &h%d 'h:1'\n    system_id: s\n    password: '[{[{[{'\n    rate: {declared: 5}\n", i, i, i)
	}
	wide.WriteString("routes:\n")
	for i := range 200 {
		fmt.Fprintf(wide, "  r%d: {accounts: [a%d]}\n", i, i)
	}
	if c := mustLoad(t, wide.String()); len(c.Accounts) != 200 {
		t.Errorf("%d accounts", len(c.Accounts))
	}
}

func TestByteOrderMarkIsSkipped(t *testing.T) {
	if c := mustLoad(t, byteOrderMark+strings.TrimSpace(minimal), "ACME_PASSWORD=x"); len(c.Accounts) != 1 {
		t.Errorf("accounts are %v", c.Accounts)
	}
}

func TestFilesThatNeverEnd(t *testing.T) {
	if _, err := Load("/dev/zero"); !errors.Is(err, errTooLarge) || !strings.Contains(err.Error(), "/dev/zero: is larger than 1MiB") {
		t.Errorf("Load of /dev/zero: %v", err)
	}
	text := "accounts: {acme: {address: 'h:1', system_id: s, password: {file: /dev/zero}, tls: {enabled: true, ca: /dev/zero}}}"
	got := strings.Join(faults(t, text), "\n")
	for _, want := range []string{
		`accounts.acme.password.file: "/dev/zero" cannot be read: is larger than 1MiB`,
		`accounts.acme.tls.ca: "/dev/zero" cannot be read: is larger than 1MiB`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got:\n%s\nwant a line with: %s", got, want)
		}
	}
	exact := "http: off\n" + minimal
	exact += "#" + strings.Repeat("x", largestFile-len(exact)-1)
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(exact), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ACME_PASSWORD", "x")
	if _, err := Load(path); err != nil {
		t.Errorf("a file of 1 MiB: %v", err)
	}
}

// A fault in one place hides none in another.
func TestNoFaultHidesAnother(t *testing.T) {
	const wrong = "{acme: {address: 'h:0', system_id: s, password: p, window: {max: -1}}}"
	for name, text := range map[string]string{
		"an unknown key near it":   "acounts: {}\naccounts: " + wrong,
		"the unknown key after it": "accounts: " + wrong + "\nacounts: {}",
		"misspelt itself":          "acounts: " + wrong,
		"twice":                    "accounts: " + wrong + "\naccounts: {}",
		"a key that is no word":    "accounts: {acme: {address: 'h:0', system_id: s, password: p, window: {max: -1}, !!int 00: b}}",
		"a merge of no mapping":    "accounts: {acme: {<<: x, address: 'h:0', system_id: s, password: p, window: {max: -1}}}",
		"a second document":        "accounts: " + wrong + "\n---\na: 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(faults(t, text), "\n")
			for _, want := range []string{`accounts.acme.address: "h:0" has the port "0"`, `accounts.acme.window.max: "-1" is out of range`} {
				if !strings.Contains(got, want) {
					t.Errorf("got:\n%s\nwant a line with: %s", got, want)
				}
			}
			if n := strings.Count(got, "\n") + 1; n != 3 {
				t.Errorf("%d faults, want 3:\n%s", n, got)
			}
		})
	}
}
