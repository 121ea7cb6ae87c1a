package window

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/testserver/limiter"
)

func TestSentences(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 1, 0, time.UTC)
	for _, tt := range []struct {
		d    Decision
		want string
	}{
		{Decision{Reason: ReasonStart, Pace: 10}, "12:00:01 start at 10.0/s: nothing is known about the SMSC"},
		{Decision{Reason: ReasonDeclared, Pace: 98, Ceiling: 100}, "12:00:01 start at 98.0/s, just below the declared rate of 100.0/s"},
		{Decision{Reason: ReasonDeclared, Ceiling: 100, Kept: 100}, "12:00:01 probe reached the declared rate of 100.0/s, which is the ceiling now"},
		{Decision{Reason: ReasonMemory, Pace: 93.1, Tried: 100}, "12:00:01 start at 93.1/s: a ceiling of 100.0/s is remembered"},
		{Decision{Reason: ReasonProbeUp, Tried: 31.04, Ceiling: 30.73}, "12:00:01 probe to 31.0/s, ceiling 30.7/s"},
		{Decision{Reason: ReasonProbeKept, Kept: 31, Accepted: 1182, Tried: 31.6, Was: 30.7, Ceiling: 30.7}, "12:00:01 31.0/s stood 1,182 accepted; probe goes on to 31.6/s; ceiling stays 30.7/s"},
		{Decision{Reason: ReasonProbeRefused, Tried: 31.04, Accepted: 182, Was: 30.7, Ceiling: 30.7, Owed: 500}, "12:00:01 probe to 31.0/s refused after 182 accepted; ceiling stays 30.7/s; next probe in 500 messages"},
		{Decision{Reason: ReasonProbeRefused, Tried: 2500, Accepted: 182, Was: 1000, Ceiling: 1250, Wait: time.Second}, "12:00:01 probe to 2,500/s refused after 182 accepted; ceiling goes from 1,000/s to 1,250/s; next probe in 1s"},
		{Decision{Reason: ReasonProbeUnused, Tried: 31, Was: 30.7, Ceiling: 30.7, Owed: 20}, "12:00:01 probe to 31.0/s ends unused, too few places to try it; ceiling stays 30.7/s; next probe in 20 messages"},
		{Decision{Reason: ReasonProbeIdle, Tried: 62, Was: 30.7, Ceiling: 31}, "12:00:01 probe to 62.0/s ends, too few messages to try it; ceiling goes from 30.7/s to 31.0/s"},
		{Decision{Reason: ReasonProbeUnanswered, Tried: 62, Unanswered: 12, Was: 31, Ceiling: 31, Owed: 20}, "12:00:01 probe to 62.0/s ends, 12 of its messages are not answered; ceiling stays 31.0/s; next probe in 20 messages"},
		{Decision{Reason: ReasonAlarm, Alarm: Alarm{Reason: AlarmHold, Share: 1, Refused: 12}}, "12:00:01 alarm: nothing is accepted: 12 test messages in a row were refused; the silences between them become longer; ask the SMSC's operator whether the account is blocked or has used up a quota"},
		{Decision{Reason: ReasonCutExcess, Accepted: 88, Refused: 12, Was: 100, Ceiling: 89.1, WindowWas: 7, Window: 5, Owed: 36}, "12:00:01 12 of 100 refused; ceiling goes from 100.0/s to 89.1/s; window goes from 7 to 5; next probe in 36 messages"},
		{Decision{Reason: ReasonHold, Refused: 3, Wait: 50 * time.Millisecond}, "12:00:01 3 refused and none accepted: silence, first test in 50ms"},
		{Decision{Reason: ReasonHoldTest, Refused: 1, Wait: 1600 * time.Millisecond}, "12:00:01 test message refused, next one in 1.6s"},
		{Decision{Reason: ReasonHoldTest, Wait: 30 * time.Second}, "12:00:01 test message not answered, next one in 30s"},
		{Decision{Reason: ReasonResume, Held: 6100 * time.Millisecond, Was: 100, Ceiling: 98, Wait: 305 * time.Second}, "12:00:01 test message accepted after 6.1s of silence; ceiling goes from 100.0/s to 98.0/s; no probe for 5m5s"},
		{Decision{Reason: ReasonResume, Held: time.Minute, Was: 5, Ceiling: 5, Wait: 10 * time.Minute}, "12:00:01 test message accepted after 1m of silence; ceiling stays 5.00/s; no probe for 10m"},
		{Decision{Reason: ReasonCongestion, Congestion: 85, Wait: time.Second, Ceiling: 30.7}, "12:00:01 load 85 reported: no probe for 1s, ceiling stays 30.7/s"},
		{Decision{Reason: ReasonCongestion, Congestion: 93, Was: 30.7, Ceiling: 20, WindowWas: 3, Window: 3, Owed: 7}, "12:00:01 congestion 93 reported; ceiling goes from 30.7/s to 20.0/s; window stays 3; next probe in 7 messages"},
		{Decision{Reason: ReasonNoiseTest, Refused: 6, Accepted: 594, Pace: 90, Owed: 400}, "12:00:01 6 of 600 refused; test whether that follows the pace: 90.0/s for 400 answers"},
		{Decision{Reason: ReasonNoiseTest, Refused: 6, Accepted: 594, SlowAnswers: 400, SlowRefused: 4, Slower: .1, Pace: 100, Owed: 400}, "12:00:01 10 of 1,000 refused: 1.0 % at full pace, 1.0 % at 10 % less; test whether that follows the pace: 100.0/s for 400 answers"},
		{Decision{Reason: ReasonNoiseTest, Noise: .015, Pace: 90, Owed: 275}, "12:00:01 1.5 % is ignored; test whether that follows the pace: 90.0/s for 275 answers"},
		{Decision{Reason: ReasonNoise, Refused: 21, Accepted: 2979, SlowAnswers: 3000, SlowRefused: 24, Slower: .1, Noise: .008, Owed: 7500}, "12:00:01 45 of 6,000 refused: 0.7 % at full pace, 0.8 % at 10 % less: not about our pace; 0.8 % is ignored, next test in 7,500 messages"},
		{Decision{Reason: ReasonNoiseGone, Refused: 1, Accepted: 2999, SlowAnswers: 3000, Slower: .1}, "12:00:01 1 of 6,000 refused: 0.0 % at full pace, 0.0 % at 10 % less: none is ignored any more"},
		{Decision{Reason: ReasonNoiseGone, Refused: 1, Accepted: 2999, Noise: .01}, "12:00:01 1 of 3,000 refused: no more than the 1.0 % to ignore"},
		{Decision{Reason: ReasonAlarm, Alarm: Alarm{Reason: AlarmOverMax, Share: .083, Accepted: 112, Refused: 9, SlowAnswers: 108, SlowRefused: 10, Slower: .22}}, "12:00:01 alarm: 19 of 229 refused (8.3 %): 7.4 % at full pace, 9.3 % at 22 % less, which does not follow the pace and is more than noise.max lets be ignored; ask whether others send through this account; if nobody does, noise.ignore: 12.4% is safe"},
		{Decision{Reason: ReasonAlarm, Alarm: Alarm{Reason: AlarmUndecided, Share: .1, Accepted: 90, Refused: 10}}, "12:00:01 alarm: 10 of 100 refused (10.0 %), and two tests could not tell whether that follows the pace; ask whether others send through this account; if nobody does, noise.ignore: 15.0% is safe"},
		{Decision{Reason: ReasonAlarm, Alarm: Alarm{Reason: AlarmSunken, Share: .02, Accepted: 980, Refused: 20, Again: 11, Best: 100, Ceiling: 42.9}}, "12:00:01 alarm: the ceiling went from 100.0/s to 42.9/s and refusals do not follow: 20 of 1,000 refused (2.0 %); 11 of them were messages refused before: look for recipients that are always refused"},
		{Decision{Reason: ReasonAlarmOver, Accepted: 1995, Refused: 5}, "12:00:01 alarm over: 5 of the last 2,000 refused"},
		{Decision{Reason: ReasonAlarmOver}, "12:00:01 alarm over: what to make of the refusals is decided"},
		{Decision{Reason: ReasonOperator, Declared: 80, MaxWindow: 20, Was: 100, Ceiling: 80}, "12:00:01 operator: declared rate 80.0/s, window cap 20; ceiling goes from 100.0/s to 80.0/s"},
		{Decision{Reason: ReasonOperator, Was: .5, Ceiling: .5}, "12:00:01 operator: no declared rate, no window cap; ceiling stays 0.50/s"},
		{Decision{Reason: ReasonOperator, Forgot: true, Ceiling: 87}, "12:00:01 operator: the learned ceiling of 87.0/s is forgotten"},
		{Decision{Reason: ReasonDisconnect, Bind: 2, Unanswered: 14, Ceiling: 30.7}, "12:00:01 bind 2 is lost with 14 unanswered; ceiling stays 30.7/s"},
		{Decision{}, "12:00:01 nothing decided"},
	} {
		tt.d.At = at
		if got := tt.d.String(); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.d.Reason, got, tt.want)
		}
	}
}

func TestModeNames(t *testing.T) {
	for m, want := range map[Mode]string{Cruise: "cruise", Probe: "probe", Hold: "hold", Compare: "compare", 99: "unknown"} {
		if m.String() != want {
			t.Errorf("mode %d is %q, want %q", m, m, want)
		}
	}
}

func TestDecisionsKeepsTheNewest(t *testing.T) {
	c := NewController(Config{})
	for range 3 * ringSize {
		c.Configure(virtualStart(), Config{})
	}
	ds := c.Decisions()
	for i, d := range ds {
		if want := uint64(3*ringSize + 1 - ringSize + 1 + i); d.Seq != want {
			t.Fatalf("decision %d has number %d, want %d", i, d.Seq, want)
		}
	}
	if len(ds) != ringSize {
		t.Errorf("%d decisions, want %d", len(ds), ringSize)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// TestGoldenLogs replays scenarios and compares what an operator would read.
func TestGoldenLogs(t *testing.T) {
	for name, sc := range map[string]scenario{
		"step": {smsc: bucketAlong(limiter.Steps([]limiter.Step{{At: 0, Rate: 100}, {At: seconds(20), Rate: 30}, {At: seconds(40), Rate: 100}}), 10), rtt: ms(20), length: 70 * time.Second},
		"penalty": {smsc: func(*rand.Rand) limiter.Limiter {
			return limiter.Penalty(limiter.TokenBucket(limiter.Constant(10), 2, throttled), 5*time.Second)
		}, rtt: ms(20), length: 200 * time.Second},
		"noise":      {smsc: noisy(bucket(100, 10), .01, throttled), rtt: ms(20), length: 120 * time.Second, config: Config{NoiseMax: .06}},
		"disconnect": {smsc: bucket(50, 10), rtt: ms(20), length: 30 * time.Second, down: []time.Duration{seconds(10)}, config: Config{Remembered: 60}},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			for _, d := range simulate(sc, 1).senders[0].c.Decisions() {
				log.WriteString(d.String() + "\n")
			}
			file := filepath.Join("testdata", name+".log")
			if *update {
				if err := os.WriteFile(file, []byte(log.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v: run with -update", err)
			}
			if log.String() != string(want) {
				t.Errorf("the log differs from %s; if that is meant, run with -update. Now:\n%s", file, log.String())
			}
		})
	}
}
