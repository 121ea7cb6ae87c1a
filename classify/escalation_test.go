package classify

import (
	"fmt"
	"testing"
)

// answer is one observation of a script.
type answer struct {
	v                Verdict
	from, to, tenant string
}

func TestEscalation(t *testing.T) {
	table := Default()
	ok, shape, dead, slow := table.Of(Submit, 0), table.Of(Submit, 0x48), table.Of(Submit, 0x0B), table.Of(Submit, 0x58)
	to := func(v Verdict, n int, tenant string) answer { return answer{v, "A", fmt.Sprint("n", n), tenant} }
	run := func(v Verdict, n int, tenant string) (s []answer) {
		for i := range n {
			s = append(s, to(v, i, tenant))
		}
		return s
	}
	for _, tc := range []struct {
		name   string
		script []answer
		at     int // index of the answer that escalates, -1 never
	}{
		{"five pairs", run(shape, 5, ""), 4},
		{"four pairs", run(shape, 4, ""), -1},
		{"one message many times", []answer{to(shape, 1, ""), to(shape, 1, ""), to(shape, 1, ""), to(shape, 1, ""), to(shape, 1, ""), to(shape, 1, "")}, -1},
		{"an accepted message ends the run", append(append(run(shape, 4, ""), to(ok, 9, "")), run(shape, 4, "")...), -1},
		{"other answers say nothing", append(append(run(shape, 4, ""), to(dead, 7, ""), to(slow, 8, "")), to(shape, 4, "")), 6},
		{"other terminal answers alone", run(dead, 20, ""), -1},
		{"one tenant", run(shape, 20, "a"), -1},
		{"two tenants", append(run(shape, 7, "a"), to(shape, 1, "b")), 7},
		{"a tenant and none", append(run(shape, 4, "a"), to(shape, 4, "")), 4},
		{"starts again", append(run(shape, 5, ""), run(shape, 4, "")...), 4},
		{"senders count too", []answer{{shape, "A", "n", ""}, {shape, "B", "n", ""}, {shape, "C", "n", ""}, {shape, "D", "n", ""}, {shape, "An", "", ""}}, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var e Escalation
			at := -1
			for i, a := range tc.script {
				var escalate bool
				if e, escalate = e.Observe(a.v, a.from, a.to, a.tenant); escalate {
					if at >= 0 {
						t.Errorf("escalated again at %d", i)
					}
					at = i
					if e != (Escalation{}) {
						t.Errorf("state after the escalation: %+v", e)
					}
				}
			}
			if at != tc.at {
				t.Errorf("escalated at %d, want %d (pairs %d)", at, tc.at, e.Pairs())
			}
		})
	}
}

func TestFingerprintSeparates(t *testing.T) {
	if fingerprint("ab", "c") == fingerprint("a", "bc") {
		t.Error("the two strings run together")
	}
}

func TestEscalationAllocatesNothing(t *testing.T) {
	shape := Default().Of(Submit, 0x48)
	var e Escalation
	if n := testing.AllocsPerRun(100, func() { e, _ = e.Observe(shape, "A", "15550100", "a") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
