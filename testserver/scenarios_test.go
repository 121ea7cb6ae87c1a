package testserver

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
				c := connect(t, s)
				if refuse := sc.Bind.Refuse; refuse.Silent || refuse.Drop {
					c.send(&pdu.Bind{SystemID: "sluice", Password: "secret"})
					time.Sleep(2 * time.Minute)
					if got := s.Stats(); got.Submits != 0 || len(c.replies) > 0 {
						t.Errorf("an answer where none was to come")
					}
					return
				}
				want := map[string]pdu.Status{"f21-wrong-password": pdu.StatusInvPaswd, "bind-refused": pdu.StatusBindFail}[name]
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

// Every controller case of the benchmark set has a scenario that names it, as has every field report that is about an
// SMSC, and the list of them is complete.
func TestScenariosNameTheirCases(t *testing.T) {
	list, err := os.ReadFile("../configs/scenarios/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../configs/scenarios/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, file := range files {
		sc, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range regexp.MustCompile(`\b[BF]\d+\b`).FindAllString(sc.Description, -1) {
			named[id] = true
		}
		if row := "| [" + sc.Name + "](" + filepath.Base(file) + ") | " + strings.TrimSpace(sc.Description) + " |"; !strings.Contains(string(list), row) {
			t.Errorf("README.md lacks %s", row)
		}
		if id := regexp.MustCompile(`^[bf]\d+`).FindString(sc.Name); id != "" && !strings.Contains(sc.Description, strings.ToUpper(id[:1])+strings.TrimPrefix(id[1:], "0")) && !strings.Contains(sc.Description, strings.ToUpper(id)) {
			t.Errorf("%s does not say that it is about %s", file, id)
		}
	}
	var want []string
	for i := 1; i <= 25; i++ {
		want = append(want, fmt.Sprintf("B%d", i))
	}
	// The others are about what a client does by itself, whatever the SMSC.
	for _, i := range []int{2, 6, 7, 9, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 28, 29, 31, 32, 33, 34, 35, 37, 38, 39, 41, 44, 45} {
		want = append(want, fmt.Sprintf("F%02d", i))
	}
	for _, id := range want {
		if !named[id] {
			t.Errorf("no scenario names %s", id)
		}
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
