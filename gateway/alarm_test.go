package gateway

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/testserver"
	"sluice/window"
)

// An SMSC that refuses one message in ten at any pace: what the operator sees of the account says so, with the setting
// that would help, and the metric is there to alert on.
func TestAlarmIsReportedAndExported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, testserver.Scenario{
			Limits: []testserver.Limit{
				{Kind: testserver.Noise, Share: 0.10},
				{Kind: testserver.TokenBucket, Rate: testserver.PerSecond(50), Burst: 5},
			},
			Latency: testserver.Between(20*time.Millisecond, 60*time.Millisecond), AnyOrder: true,
		}, "")
		alarm := func() string { return v.report("test-1", time.Now())[0].Alarm }
		if got := alarm(); got != "" {
			t.Errorf("an alarm before the first message: %s", got)
		}
		for n := 0; alarm() == "" && n < 120_000; n++ {
			v.publish(t, n, fmt.Sprintf("+1555%07d", n))
			if n%60 == 59 {
				time.Sleep(time.Second)
			}
		}
		got := alarm()
		for _, part := range []string{"refused", "follow", "noise.ignore: "} {
			if !strings.Contains(got, part) {
				t.Errorf("the alarm says %q, want %q in it", got, part)
			}
		}
		decisions := strings.Join(v.report("test-1", time.Now())[0].Decisions, "\n")
		if !strings.Contains(decisions, "alarm: ") {
			t.Errorf("the newest decisions do not tell of it:\n%s", decisions)
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(windowCollector{&Gateway{accounts: []*account{v.account}}})
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		exported := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if f.GetName() == "sluice_refusals_alarm" && l.GetName() == "reason" {
						exported[l.GetValue()] = m.GetGauge().GetValue()
					}
				}
			}
		}
		stands := v.gate.Snapshot().Alarm.Reason
		for _, r := range window.AlarmReasons() {
			on := 0.0
			if r == stands {
				on = 1
			}
			if value, ok := exported[string(r)]; !ok || value != on {
				t.Errorf("sluice_refusals_alarm of %s is %v, want %v", r, value, on)
			}
		}
		t.Log(got)
		v.stop()
	})
}
