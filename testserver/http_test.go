package testserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/smpp/pdu"
)

// ask sends a request to the handler and decodes the answer.
func ask(t *testing.T, s *Server, method, target, body string, into any) int {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body)))
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("%s %s: %v in %q", method, target, err, w.Body)
	}
	return w.Code
}

func TestHTTPReadsLedgerStatsAndBinds(t *testing.T) {
	sc := Scenario{Name: "web", Errors: []ErrorRule{{Match: Match{To: "2"}, Status: pdu.StatusThrottled}}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		for _, to := range []string{"1", "2", "1", "3"} {
			c.submit(to)
		}
		var stats Stats
		if code := ask(t, s, "GET", "/stats", "", &stats); code != http.StatusOK || stats.Submits != 4 || stats.Scenario != "web" {
			t.Errorf("stats are %d %+v", code, stats)
		}
		for query, want := range map[string]int{
			"": 4, "?status=0x58": 1, "?status=0": 3, "?destination=1": 2, "?duplicate=true": 1,
			"?unanswered=true": 0, "?after=3": 1, "?limit=2": 2, "?system_id=sluice": 4, "?system_id=x": 0,
		} {
			var records []Record
			if code := ask(t, s, "GET", "/ledger"+query, "", &records); code != http.StatusOK || len(records) != want {
				t.Errorf("%q: %d with %d records, want %d", query, code, len(records), want)
			}
		}
		var binds []BindInfo
		if ask(t, s, "GET", "/binds", "", &binds); len(binds) != 1 || binds[0].SystemID != "sluice" {
			t.Errorf("binds are %+v", binds)
		}
	})
}

func TestHTTPChangesBehaviour(t *testing.T) {
	bubble(t, Scenario{}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		post := func(target, body string) {
			t.Helper()
			var answer map[string]any
			if code := ask(t, s, "POST", target, body, &answer); code != http.StatusOK {
				t.Fatalf("%s: %d %v", target, code, answer)
			}
		}
		post("/limit", `[{"kind": "token_bucket", "rate": 1, "burst": 1}]`)
		for _, want := range []pdu.Status{0, pdu.StatusThrottled} {
			if got := c.submit("1").Status; got != want {
				t.Errorf("limited: %v, want %v", got, want)
			}
		}
		post("/limit", "- {kind: noise, share: 100%, status: 0x14}")
		if got := c.submit("1").Status; got != pdu.StatusMsgQFull {
			t.Errorf("YAML: %v", got)
		}
		post("/scenario", "errors: [{status: 0x08}]")
		if got := c.submit("1").Status; got != pdu.StatusSysErr {
			t.Errorf("scenario: %v", got)
		}
		post("/mo", `{"from": "4179", "to": "info", "text": "hello"}`)
		c.delivered(pdu.StatusOK)
		post("/reset", "")
		if s.Stats().Submits != 0 {
			t.Error("not reset")
		}
		post("/disconnect?bind=1&how=rst", "")
		c.wantEnd()
		synctest.Wait()
	})
}

func TestHTTPReportsCapacity(t *testing.T) {
	bubble(t, Scenario{Limits: []Limit{{Kind: TokenBucket, Rate: PerSecond(50)}}}, func(t *testing.T, s *Server) {
		connect(t, s).bind().submit("1") // at 2000-01-01 00:00:00 UTC
		var answer map[string]float64
		ask(t, s, "GET", "/capacity?system_id=sluice&from=2000-01-01T00:00:00Z&to=2000-01-01T00:00:10Z", "", &answer)
		if got := answer["messages"]; got < 499 || got > 501 {
			t.Errorf("capacity is %v, want 500", got)
		}
	})
}

func TestHTTPNamesWhatIsWrong(t *testing.T) {
	s := New(Scenario{})
	tests := []struct {
		method, target, body string
		code                 int
		want                 string
	}{
		{"POST", "/limit", `[{"kind": "bucket"}]`, 400, "token_bucket"},
		{"POST", "/limit", `[{"knd": 1}]`, 400, "knd"},
		{"POST", "/scenario", "latency: soon", 400, "soon"},
		{"POST", "/scenario", "bind: {max: -1}", 400, "bind.max"},
		{"POST", "/mo", `{"text": "x"}`, 409, "no receiver"},
		{"POST", "/mo", `{"txt": "x"}`, 400, "txt"},
		{"POST", "/disconnect?how=maybe", "", 400, "rst"},
		{"POST", "/disconnect?bind=x", "", 400, "bind"},
		{"GET", "/ledger?status=bad", "", 400, "0x58"},
		{"GET", "/ledger?after=-1", "", 400, "after"},
		{"GET", "/ledger?limit=x", "", 400, "limit"},
		{"GET", "/capacity?from=now", "", 400, "from"},
	}
	for _, tt := range tests {
		var answer map[string]string
		if code := ask(t, s, tt.method, tt.target, tt.body, &answer); code != tt.code || !strings.Contains(answer["error"], tt.want) {
			t.Errorf("%s %s: %d %v, want %d with %q", tt.method, tt.target, code, answer, tt.code, tt.want)
		}
	}
}
