package demo

import (
	"sync"
	"time"

	"sluice/testserver"
)

// interval is how often a run is looked at.
const interval = 250 * time.Millisecond

// look is what a sender says about itself at one moment.
type look struct {
	pace             float64 // submits per second that may start; 0: it has none
	window, inFlight int
	done             int // messages with their final outcome
}

// moment is a run as it is shown.
type moment struct {
	look
	run                 string
	since               time.Duration // since the first submit
	ceiling             float64       // of the SMSC, in messages per second
	accepted, throttled float64       // answers per second over the last second
	offered             int
}

// run is what watch shows.
type run struct {
	name    string
	plan    plan
	offered int
	look    func() look
}

// moment puts together what the sender and the SMSC say. Before the first submit nothing has happened.
func (r run) moment(c *smsc, m *meter, now time.Time) moment {
	shown := moment{run: r.name, offered: r.offered, look: r.look(), ceiling: r.plan.at(0)}
	began := c.began()
	if began.IsZero() {
		return shown
	}
	m.begin(began)
	shown.since = now.Sub(began)
	shown.ceiling = r.plan.at(shown.since)
	shown.accepted, shown.throttled = m.rates(now, c.Stats().Counts)
	return shown
}

// watch shows a run until stop is called, which shows it once more.
func watch(show view, c *smsc, r run) (stop func()) {
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		var m meter
		for {
			select {
			case <-quit:
				show.show(r.moment(c, &m, time.Now()))
				return
			case now := <-ticker.C:
				show.show(r.moment(c, &m, now))
			}
		}
	})
	return func() { close(quit); watching.Wait() }
}

// meter turns the SMSC's counts into rates over the last second.
type meter struct {
	readings []reading // oldest first; the first is the newest that is a second old, or the beginning
}

type reading struct {
	at                  time.Time
	accepted, throttled uint64
}

// begin notes when counting began; later calls do nothing.
func (m *meter) begin(at time.Time) {
	if len(m.readings) == 0 {
		m.readings = append(m.readings, reading{at: at})
	}
}

func (m *meter) rates(now time.Time, counts testserver.Counts) (accepted, throttled float64) {
	newest := reading{at: now, accepted: counts.Accepted, throttled: counts.Throttled}
	m.readings = append(m.readings, newest)
	for len(m.readings) > 2 && now.Sub(m.readings[1].at) >= time.Second {
		m.readings = m.readings[1:]
	}
	oldest := m.readings[0]
	span := max(now.Sub(oldest.at), interval).Seconds()
	return float64(newest.accepted-oldest.accepted) / span, float64(newest.throttled-oldest.throttled) / span
}
