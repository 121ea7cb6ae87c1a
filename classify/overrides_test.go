package classify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

func TestProfiles(t *testing.T) {
	want := []string{
		"bulksms", "cheapglobalsms", "hollatags", "infobip", "openmarket-v3", "openmarket-v4", "serwersms-pl", "smpp-io",
		"telco-in-gosmpp-73", "vonage", "world-text",
	}
	if got := Profiles(); !slices.Equal(got, want) {
		t.Errorf("profiles %v, want %v", got, want)
	}
}

// profileCodes lists every rule of every profile.
var profileCodes = map[string]map[string]Class{
	"infobip": {
		"bind:0x0E": Config, "0x0C": Terminal, "0x22": Terminal, "0x9F": Terminal, "0xFF": Config, "0x4A1": Retry,
	},
	"vonage":        {"0x58": Throttle, "bind:0x05": Retry, "bind:0x0D": Config},
	"openmarket-v4": {"0x01": Terminal, "0x08": Retry, "0x14": Throttle, "0x58": Throttle, "0x63": Terminal, "bind:0x05": Retry, "bind:0x0D": Config},
	"openmarket-v3": {
		"0x406": Terminal, "0x407": Terminal, "0x408": Terminal, "0x409": Terminal, "0x40A": Terminal, "0x40C": Terminal,
		"bind:0x40D": Retry, "0x411": Config, "0x412": Terminal, "0x413": Terminal, "0x415": Terminal,
	},
	"bulksms": {"0x400": Unknown, "0x401": Terminal, "0x410": Config, "0x412": Config},
	"hollatags": {
		"0x45": Terminal, "0x58": Throttle, "0x400": Terminal, "0x401": Config, "0x402": Config, "0x403": Config, "0x404": Terminal,
		"0x405": Unknown, "0x40A": Terminal, "0x430": Terminal, "0x431": Retry, "0x432": Terminal, "0x433": Terminal, "0x4FF": Retry,
	},
	"serwersms-pl":       {"bind:0x0A": Config, "0x0A": Terminal, "bind:0x15": Config, "0x40B": Config},
	"world-text":         {"0x400": Config},
	"smpp-io":            {"0x16": Config, "0x4A": Terminal, "0x4B": Terminal, "bind:0x4D": Config, "0x4E": Terminal, "0x67": Config},
	"cheapglobalsms":     {"bind:0x05": Retry},
	"telco-in-gosmpp-73": {"0x45": Throttle, "0x14": Throttle},
}

func TestProfileRules(t *testing.T) {
	total := 0
	for name, codes := range profileCodes {
		table, err := Default().With(name, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for k, want := range codes {
			total++
			phases, status, err := Default().parseKey(k)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range phases {
				got := table.Of(p, status)
				if got.Class != want || got.Origin != "profile "+name {
					t.Errorf("%s %s at %s: %s from %s, want %s", name, k, p, got.Class, got.Origin, want)
				}
				if p == Bind && got.Scope != ScopeBind {
					t.Errorf("%s %s: scope %s at bind", name, k, got.Scope)
				}
			}
		}
		fromProfile := 0
		for _, row := range table.Rows() {
			if row.Verdict.Origin == "profile "+name && row.Phase != Nack {
				fromProfile++
			}
		}
		if fromProfile != len(codes) {
			t.Errorf("%s: %d rules in effect, want %d", name, fromProfile, len(codes))
		}
	}
	if total != len(profileRecords()) {
		t.Errorf("the test lists %d rules, the file has %d", total, len(profileRecords()))
	}
}

func TestProfileNameAsWritten(t *testing.T) {
	for _, name := range []string{"SerwerSMS.pl", "OpenMarket v4", "INFOBIP", "Telco in gosmpp #73"} {
		if _, err := Default().With(name, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProfileShape(t *testing.T) {
	table, err := Default().With("smpp-io", nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := table.Of(Submit, 0x4A); !v.Shape || v.Name != "(reserved)" {
		t.Errorf("0x4A: %+v", v)
	}
	if v := table.Of(Bind, 0x4A); v.Class != Retry || v.Origin != "default table" {
		t.Errorf("0x4A at bind: %+v", v)
	}
}

func TestOverrides(t *testing.T) {
	base := Default()
	table, err := base.With("hollatags", map[string]Override{
		"0x45":        {Class: Throttle},
		"nack:0x45":   {Class: Terminal},
		"0x58":        {Class: Throttle, Hold: time.Minute},
		"bind:0x0A":   {Class: Config},
		"bind:0x08":   {Class: Retry, Hold: 5 * time.Minute},
		"0x0D":        {Class: Retry},
		"0x14":        {Class: Retry},
		"0x08":        {Class: Retry, Hold: time.Second},
		"0x48":        {Class: Terminal},
		"0X22":        {Class: OK},
		"0xABCDEF":    {Class: Config},
		"submit:0x03": {Class: Unknown},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		phase  Phase
		status pdu.Status
		class  Class
		scope  Scope
		hold   time.Duration
	}{
		{Submit, 0x45, Throttle, ScopeRoute, 0},
		{Nack, 0x45, Terminal, ScopeMessage, 0},
		{Bind, 0x45, Retry, ScopeBind, 0},
		{Submit, 0x58, Throttle, ScopeRoute, time.Minute},
		{Nack, 0x58, Throttle, ScopeRoute, time.Minute},
		{Bind, 0x58, Retry, ScopeBind, 0},
		{Bind, 0x0A, Config, ScopeBind, 0},
		{Submit, 0x0A, Terminal, ScopeMessage, 0},
		{Bind, 0x08, Retry, ScopeBind, 5 * time.Minute},
		{Submit, 0x08, Retry, ScopeRoute, time.Second}, // same class, same scope
		{Bind, 0x0D, Retry, ScopeBind, 0},              // a status of the bind needs no prefix
		{Submit, 0x0D, Retry, ScopeMessage, 0},
		{Submit, 0x14, Retry, ScopeMessage, 0}, // "if a centre uses it per recipient, override to retry"
		{Submit, 0x22, OK, ScopeMessage, 0},
		{Submit, 0xABCDEF, Config, ScopeRoute, 0},
		{Submit, 0x03, Unknown, ScopeMessage, 0},
		{Nack, 0x03, Config, ScopeRoute, 0},
		{Submit, 0x400, Terminal, ScopeMessage, 0}, // the profile still holds
	} {
		got := table.Of(tc.phase, tc.status)
		if got.Class != tc.class || got.Scope != tc.scope || got.Hold != tc.hold {
			t.Errorf("%s 0x%X: %s/%s hold %s, want %s/%s hold %s",
				tc.phase, uint32(tc.status), got.Class, got.Scope, got.Hold, tc.class, tc.scope, tc.hold)
		}
	}
	if v := table.Of(Submit, 0x48); v.Shape {
		t.Error("0x48 overridden to terminal still escalates")
	}
	if base.Of(Submit, 0x45).Class != Retry || base.Of(Submit, 0xABCDEF).Class != Unknown {
		t.Error("With changed the table it was called on")
	}
}

func TestBadOverridesListAllFaults(t *testing.T) {
	_, err := Default().With("infobop", map[string]Override{
		"58":         {Class: Throttle},
		"0xZZ":       {Class: Throttle},
		"query:0x67": {Class: Retry},
		"0x00":       {Class: Retry},
		"bind:0x58":  {Class: Throttle},
		"0x45":       {Class: Terminal, Hold: time.Second},
		"0x0045":     {Class: Retry},
		"0x64":       {Class: Retry, Hold: 25 * time.Hour},
		"0x08":       {Class: Retry, Hold: -time.Second},
		"0x66":       {Class: 9},
		"0x0E":       {Class: Terminal},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`profile "infobop" is not known: use one of bulksms, `,
		`statuses "58": status "58" is not hexadecimal: write it as 0x58`,
		`statuses "0xZZ": status "0xZZ" is not a number from 0x0 to 0xFFFFFFFF`,
		`statuses "query:0x67": phase "query" is not known: write submit:, bind: or nack:, or no phase`,
		`statuses "0x00": 0x00 is success`,
		`statuses "bind:0x58": class throttle has no meaning for a refused bind: use retry (with back-off) or config`,
		`statuses "0x45": hold 1s has no effect on class terminal: only throttle and retry wait`,
		`statuses "0x45": the same status as "0x0045": keep one of them`,
		`statuses "0x64": hold 25h0m0s is out of range: use 0s to 24h0m0s`,
		`statuses "0x08": hold -1s is out of range`,
		`statuses "0x66": class(9) does not exist`,
		`statuses "0x0E": class terminal has no meaning for a refused bind`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 12 {
		t.Errorf("%d lines, want 12:\n%v", n, err)
	}
}
