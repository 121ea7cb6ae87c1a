package testserver

import (
	"strings"
	"testing"
	"time"
)

func TestDecodeReadsEveryForm(t *testing.T) {
	sc, err := Decode([]byte(`
name: all forms
seed: 7
bind:
  accounts: {sluice: secret}
  max: 2
  ghost: 120s
  refuse: {status: 0x0D, times: 2}
limits:
  - {kind: token_bucket, rate: 100, burst: 10}
  - {kind: calendar_second, rate: [{at: 0s, rate: 100}, {at: 20s, rate: 40}], scope: bind}
  - {kind: sliding_second, rate: {mean: 100, swing: 0.5, period: 60s}, status: 0x45}
  - {kind: noise, share: 1%}
  - {kind: outstanding, size: 5, penalty: 2s}
latency: 5ms-20ms
any_order: true
errors:
  - {prefix: "4179", status: 0x0B}
  - {script: [0, 0x58]}
charge_refused_destination: true
faults:
  - {kind: delay, by: {min: 1s, max: 2s}, share: 0.25}
receipts:
  delay: 1s
  rules:
    - {suffix: "9", state: UNDELIV, code: "021"}
`))
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string]bool{
		"accounts":   sc.Bind.Accounts["sluice"] == "secret",
		"ghost":      sc.Bind.Ghost == 2*time.Minute,
		"refuse":     sc.Bind.Refuse.Status == 0x0D && sc.Bind.Refuse.Times == 2,
		"rate":       sc.Limits[0].Rate.PerSecond == 100,
		"steps":      sc.Limits[1].Rate.curve()(21*time.Second) == 40,
		"sine":       sc.Limits[2].Rate.curve()(15*time.Second) == 150,
		"percent":    sc.Limits[3].Share == 0.01,
		"penalty":    sc.Limits[4].Penalty == 2*time.Second,
		"latency":    sc.Latency == Between(5*time.Millisecond, 20*time.Millisecond),
		"prefix":     sc.Errors[0].Prefix == "4179" && sc.Errors[0].Status == 0x0B,
		"script":     len(sc.Errors[1].Script) == 2 && sc.Errors[1].Script[1] == 0x58,
		"charge":     sc.ChargeRefusedDestination,
		"span map":   sc.Faults[0].By == Between(time.Second, 2*time.Second),
		"share":      sc.Faults[0].Share == 0.25,
		"receipt":    sc.Receipts.Delay == Exactly(time.Second),
		"rule state": sc.Receipts.Rules[0].State == Undeliverable && sc.Receipts.Rules[0].Suffix == "9",
	}
	for name, ok := range checks {
		if !ok {
			t.Errorf("%s was not read: %+v", name, sc)
		}
	}
}

func TestDecodeNamesFieldValueAndRemedy(t *testing.T) {
	tests := map[string]struct {
		yaml string
		want []string
	}{
		"unknown key":        {"limit: []", []string{"unknown field", "limit"}},
		"unknown nested key": {"limits: [{kind: queue, rat: 5}]", []string{"unknown field", "rat"}},
		"unknown key inline": {"faults: [{kind: swallow, sufix: x}]", []string{"unknown field", "sufix"}},
		"key of a rate":      {"limits: [{kind: token_bucket, rate: {mean: 4, swng: 1}}]", []string{"unknown field", "swng"}},
		"duration":           {"bind: {max: 1, ghost: 2q}", []string{"bind.ghost", "2q", "20ms"}},
		"duration as number": {"bind: {max: 1, ghost: 20}", []string{"bind.ghost", "20", "20ms"}},
		"span":               {"latency: soon", []string{"latency", "soon", "5ms-20ms"}},
		"span backwards":     {"latency: 20ms-5ms", []string{"latency", "20ms-5ms", "shorter one first"}},
		"share":              {"faults: [{kind: swallow, share: 120%}]", []string{"faults[0].share", "120%", "0.01"}},
		"rate word":          {"limits: [{kind: queue, rate: fast, size: 1}]", []string{"limits[0].rate", "fast", "100"}},
		"rate zero":          {"limits: [{kind: queue, size: 1}]", []string{"limits[0].rate", "0", "above 0"}},
		"steps descend": {
			"limits: [{kind: queue, size: 1, rate: [{at: 9s, rate: 1}, {at: 3s, rate: 1}]}]",
			[]string{"limits[0].rate[1].at", "3s", "ascend"},
		},
		"kind":          {"limits: [{kind: bucket}]", []string{"limits[0].kind", "bucket", "token_bucket"}},
		"no kind":       {"faults: [{share: 1%}]", []string{"faults[0].kind", "swallow"}},
		"scope":         {"limits: [{kind: outstanding, size: 1, scope: all}]", []string{"limits[0].scope", "all", "account"}},
		"size":          {"limits: [{kind: outstanding}]", []string{"limits[0].size", "0", "1 or more"}},
		"status":        {"errors: [{prefix: x}]", []string{"errors[0]", "status"}},
		"nth and every": {"faults: [{kind: swallow, nth: 1, every: 2}]", []string{"faults[0]", "nth 1", "one of them"}},
		"hex":           {"faults: [{kind: garbage, hex: xyz}]", []string{"faults[0].hex", "xyz", "pairs"}},
		"state":         {"receipts: {state: DONE}", []string{"receipts.state", "DONE", "DELIVRD"}},
		"link":          {"link: {idle: -1s}", []string{"link", "-1s", "0 or more"}},
		"system id":     {"system_id: name-of-16-octet", []string{"system_id", "16 octets", "15"}},
		"silent drop":   {"bind: {refuse: {silent: true, drop: true}}", []string{"bind.refuse", "one of them"}},
		"refuse times":  {"bind: {refuse: {status: 5, times: -1}}", []string{"bind.refuse", "-1", "0 or more"}},
		"latency map":   {"latency: {min: 2s, max: 1s}", []string{"latency", "2s-1s", "5ms-20ms"}},
		"to and prefix": {"errors: [{to: x, prefix: y, status: 8}]", []string{"errors[0].to", "prefix", "leave"}},
		"server scope": {
			"limits: [{kind: outstanding, size: 1, scope: server, account: a}]",
			[]string{"limits[0].account", `"a"`, "leave account out"},
		},
		"destination scope": {
			"limits: [{kind: destination_queue, size: 1, rate: 1, scope: bind}]",
			[]string{"limits[0].scope", "bind", "leave scope out"},
		},
		"noise share": {"limits: [{kind: noise}]", []string{"limits[0].share", "0", "1%"}},
		"burst":       {"limits: [{kind: token_bucket, rate: 1, burst: 0.5}]", []string{"limits[0].burst", "0.5", "1 or more"}},
		"floor":       {"limits: [{kind: token_bucket, rate: 1, floor: -1}]", []string{"limits[0].floor", "-1", "0 or more"}},
		"penalty":     {"limits: [{kind: outstanding, size: 1, penalty: -1s}]", []string{"limits[0].penalty", "-1s", "5s"}},
		"charge":      {"limits: [{kind: outstanding, size: 1, charge: true}]", []string{"limits[0].charge", "token_bucket"}},
		"swing":       {"limits: [{kind: token_bucket, rate: {mean: 1, swing: 1, period: 1s}}]", []string{"limits[0].rate", "swing 1"}},
		"period":      {"limits: [{kind: token_bucket, rate: {mean: 1, period: -1s}}]", []string{"limits[0].rate.period", "-1s", "60s"}},
		"step rate": {
			"limits: [{kind: token_bucket, rate: [{at: 0s, rate: 0}]}]",
			[]string{"limits[0].rate[0].rate", "0", "above 0"},
		},
		"delay":        {"faults: [{kind: delay}]", []string{"faults[0].by", "0s", "2s"}},
		"congestion":   {"faults: [{kind: congestion, value: 100}]", []string{"faults[0].value", "100", "0 to 99"}},
		"oversized":    {"faults: [{kind: oversized, value: 3}]", []string{"faults[0].value", "3", "16"}},
		"copies":       {"faults: [{kind: duplicate, copies: -1}]", []string{"faults[0].copies", "-1", "1 or more"}},
		"id width":     {"message_id: {width: 65}", []string{"message_id.width", "65", "0 to 64"}},
		"receipt id":   {"receipts: {width: 65, copies: 2000, redeliver: -1s}", []string{"receipts.width", "receipts.copies", "receipts.redeliver"}},
		"receipt rule": {"receipts: {rules: [{form: xml}]}", []string{"receipts.rules[0].form", "xml", "text, tlv, both"}},
		"ghost alone":  {"bind: {ghost: 2s}", []string{"bind.ghost", "2s", "bind.max"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(tt.yaml))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
		})
	}
}

func TestDecodeReportsAllFaultsAtOnce(t *testing.T) {
	_, err := Decode([]byte("bind: {max: -1}\nlimits: [{kind: queue}]\n"))
	if err == nil || !strings.Contains(err.Error(), "bind.max") || !strings.Contains(err.Error(), "limits[0].size") {
		t.Fatalf("not all faults are named: %v", err)
	}
}

func TestEmptyScenarioIsValid(t *testing.T) {
	if sc, err := Decode(nil); err != nil || sc.Name != "" {
		t.Fatal(sc, err)
	}
}
