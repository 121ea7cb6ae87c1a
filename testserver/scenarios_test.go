package testserver

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

// TestScenarioFiles loads every scenario that is shipped and lets a client say hello to it.
func TestScenarioFiles(t *testing.T) {
	files, err := filepath.Glob("../configs/scenarios/*.yaml")
	if err != nil || len(files) < 12 {
		t.Fatalf("found %d scenarios: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			sc, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			if sc.Name != name || sc.Description == "" {
				t.Errorf("name is %q, description %q: want the file's name and a sentence", sc.Name, sc.Description)
			}
			bubble(t, sc, func(t *testing.T, s *Server) {
				want := map[string]pdu.Status{"wrong-password": pdu.StatusInvPaswd, "bind-refused": pdu.StatusBindFail}[name]
				c := connect(t, s)
				if r := c.bindAs(pdu.IDBindTransceiver, "sluice", "secret"); r.Status != want {
					t.Fatalf("bind: %v, want %v", r.Status, want)
				}
				if want != pdu.StatusOK {
					return
				}
				c.send(message("41791234567", "hello"))
				time.Sleep(2 * time.Minute)
				if got := s.Stats().Submits; got != 1 {
					t.Errorf("%d submits, want 1", got)
				}
			})
		})
	}
}

// TestDemoScenario sends at a constant pace across the steps of the demo's ceiling.
func TestDemoScenario(t *testing.T) {
	sc, err := Load("../configs/scenarios/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		begin := time.Now()
		for i := range 6000 { // 100/s for a minute
			to := "41791234567"
			if i%10 == 0 {
				to = "0001234567"
			}
			c.send(message(to, "hello"))
			time.Sleep(10 * time.Millisecond)
		}
		admitted := func(from, to time.Duration) (count int) {
			for _, r := range s.Ledger() {
				if at := r.Time.Sub(begin); at >= from && at < to && r.Status != pdu.StatusThrottled {
					count++
				}
			}
			return count
		}
		for _, step := range []struct {
			from, to time.Duration
			want     int
		}{{0, 20 * time.Second, 2000}, {20 * time.Second, 40 * time.Second, 800}, {40 * time.Second, time.Minute, 2000}} {
			if got := admitted(step.from, step.to); got < step.want-12 || got > step.want+12 {
				t.Errorf("%v to %v: %d let through, want about %d", step.from, step.to, got, step.want)
			}
		}
		if got := s.Capacity("sluice", begin, begin.Add(time.Minute)); got < 5190 || got > 5210 {
			t.Errorf("capacity is %v, want 5200", got)
		}
		if got := s.Stats().Statuses["ESME_RINVDSTADR"]; got < 400 || got > 600 {
			t.Errorf("%d refused recipients", got)
		}
	})
}

func TestLoadNamesTheFile(t *testing.T) {
	if _, err := Load("no-such-scenario.yaml"); err == nil || !strings.Contains(err.Error(), "no-such-scenario.yaml") {
		t.Errorf("error is %v", err)
	}
}
