package queue

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the numbers of this package. A nil one works and counts nothing
// that anybody sees.
type Metrics struct {
	journalLatency  prometheus.Histogram
	journalFailures prometheus.Counter
	redeliveries    *prometheus.CounterVec
	asked           prometheus.Counter
	pullsEnded      *prometheus.CounterVec
	creditLost      prometheus.Counter
	pullsRebuilt    prometheus.Counter
	deliveriesMoved prometheus.Counter
	sparesReleased  prometheus.Counter
	streamFull      *prometheus.CounterVec
	journalOldest   atomic.Pointer[time.Time] // when the oldest entry was stored; zero: the journal is empty
}

// NewMetrics creates the metrics and registers them; a nil registerer works.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &Metrics{
		journalLatency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "sluice_journal_latency_seconds",
			Help:    "Time from queueing an event until the server has confirmed it.",
			Buckets: prometheus.ExponentialBuckets(0.00025, 2, 16), NativeHistogramBucketFactor: 1.1,
		}),
		journalFailures: counter("sluice_journal_failures_total", "Events that could not be stored at the first try."),
		redeliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_queue_redeliveries_total",
			Help: "Messages delivered again, by what explained the delivery before.",
		}, []string{"explained_by"}),
		asked: counter("sluice_queue_asked_total", "Messages asked of the queue."),
		pullsEnded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_queue_pulls_ended_total",
			Help: "Pull requests that ended without all their messages, by the server's status.",
		}, []string{"status"}),
		creditLost:      counter("sluice_queue_credit_lost_total", "Messages asked for that neither came nor were given up in time."),
		pullsRebuilt:    counter("sluice_queue_pulls_rebuilt_total", "Pulls built anew after a lost connection, a deleted consumer or a stall."),
		deliveriesMoved: counter("sluice_queue_adopted_total", "Messages delivered again to the instance that still held them."),
		sparesReleased:  counter("sluice_queue_spares_released_total", "Messages that were pulled and given back because nobody came for them."),
	}
	m.streamFull = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_stream_full_total", Help: "Writes that a stream or bucket refused because it has reached its limit.",
	}, []string{"stream"})
	for _, by := range []string{explainedByRecord, explainedByJournal, explainedByFinal, explainedByNothing, explainedNew} {
		m.redeliveries.WithLabelValues(by)
	}
	journalAge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_journal_oldest_age_seconds",
		Help: "Age of the oldest entry of the journal, 0 while it is empty: how far back its events reach.",
	}, func() float64 { return oldestAge(m.journalOldest.Load(), time.Now()) })
	if reg != nil {
		reg.MustRegister(journalAge, m.journalLatency, m.journalFailures, m.redeliveries, m.asked, m.pullsEnded,
			m.creditLost, m.pullsRebuilt, m.deliveriesMoved, m.sparesReleased, m.streamFull)
	}
	return m
}

func (m *Metrics) orDiscard() *Metrics {
	if m == nil {
		return NewMetrics(nil)
	}
	return m
}

func (m *Metrics) stored(took time.Duration) { m.journalLatency.Observe(took.Seconds()) }
func (m *Metrics) failed()                   { m.journalFailures.Inc() }
func (m *Metrics) redelivered(by string)     { m.redeliveries.WithLabelValues(by).Inc() }
func (m *Metrics) pulled(n int)              { m.asked.Add(float64(n)) }
func (m *Metrics) lost(n int)                { m.creditLost.Add(float64(n)) }
func (m *Metrics) rebuilt()                  { m.pullsRebuilt.Inc() }
func (m *Metrics) adopted()                  { m.deliveriesMoved.Inc() }
func (m *Metrics) full(stream string)        { m.streamFull.WithLabelValues(stream).Inc() }
func (m *Metrics) released()                 { m.sparesReleased.Inc() }

// pullEnded counts by status; what the server has no number for is other.
func (m *Metrics) pullEnded(status string) {
	switch status {
	case "404", "408", "409", "503":
	case "100": // a heartbeat ends nothing
		return
	default:
		status = "other"
	}
	m.pullsEnded.WithLabelValues(status).Inc()
}
