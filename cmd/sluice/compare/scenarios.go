package compare

import (
	"strings"
	"time"

	"sluice/testserver"
	"sluice/testserver/limiter"
)

// Scenarios are the SMSCs that need no file.
func Scenarios() []testserver.Scenario {
	quick := testserver.Between(5*time.Millisecond, 20*time.Millisecond)
	bucket := func(burst float64) []testserver.Limit {
		return []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.PerSecond(100), Burst: burst}}
	}
	return []testserver.Scenario{
		{
			Name: "bucket-10", Description: "100 a second, 10 at once, answers after 5 to 20 ms",
			Limits: bucket(10), Latency: quick, AnyOrder: true,
		},
		{
			Name: "bucket-100", Description: "100 a second, 100 at once, answers after 5 to 20 ms",
			Limits: bucket(100), Latency: quick, AnyOrder: true,
		},
		{
			Name: "queue-20", Description: "a queue of 20 drained at 66 a second, 0x14 when it is full, answers after 5 to 20 ms",
			Limits:  []testserver.Limit{{Kind: testserver.Queue, Rate: testserver.PerSecond(66), Size: 20}},
			Latency: quick, AnyOrder: true,
		},
		{
			Name: "outstanding-5", Description: "5 outstanding, answers after 50 to 100 ms: 66.7 a second at most",
			Limits:  []testserver.Limit{{Kind: testserver.Outstanding, Size: 5}},
			Latency: testserver.Between(50*time.Millisecond, 100*time.Millisecond), AnyOrder: true,
		},
		{
			Name: "moving", Description: "100 a second, 30 from 60 s on, 300 from 120 s on, answers after 5 to 20 ms",
			Limits: []testserver.Limit{{Kind: testserver.TokenBucket, Burst: 10, Rate: testserver.Steps(
				limiter.Step{Rate: 100}, limiter.Step{At: 60 * time.Second, Rate: 30}, limiter.Step{At: 120 * time.Second, Rate: 300})}},
			Latency: quick, AnyOrder: true,
		},
	}
}

// Scenario finds one by its name, or else reads the file of that name.
func Scenario(name string) (testserver.Scenario, error) {
	for _, sc := range Scenarios() {
		if sc.Name == name {
			return sc, nil
		}
	}
	return testserver.Load(name)
}

// ScenarioNames lists the built-in ones.
func ScenarioNames() string {
	var names []string
	for _, sc := range Scenarios() {
		names = append(names, sc.Name)
	}
	return strings.Join(names, ", ")
}
