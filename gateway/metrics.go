package gateway

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/classify"
	"sluice/queue"
	"sluice/smpp"
)

// metrics are the gateway's own; every label comes from a closed set or from the configuration.
type metrics struct {
	submits      *prometheus.CounterVec   // account, class of the verdict or none
	answers      *prometheus.CounterVec   // account, code, outcome: what the remote said and what was stored
	latency      *prometheus.HistogramVec // account
	binds        *prometheus.GaugeVec     // account
	bindsWanted  *prometheus.GaugeVec     // account
	reconnects   *prometheus.CounterVec   // account, reason
	inFlight     *prometheus.GaugeVec     // account
	panics       *prometheus.CounterVec   // account
	late         *prometheus.CounterVec   // account
	receipts     *prometheus.CounterVec   // account, match
	unread       *prometheus.CounterVec   // account
	inbound      *prometheus.CounterVec   // account, kind
	inboundFault *prometheus.CounterVec   // account
	duplicates   *prometheus.CounterVec   // account
	clockJumps   prometheus.Counter
	unserved     prometheus.Gauge
	buildInfo    *prometheus.GaugeVec // version, commit
}

// newMetrics registers the gateway's metrics; a nil registerer is fine.
func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		submits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_submits_total",
			Help: "submit_sm sent, by the class of their answer; class none is no answer.",
		}, []string{"account", "class"}),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_answers_total",
			Help: "Messages settled, by the command_status answered (other: not in the table; none: no answer or not submitted) and the outcome stored.",
		}, []string{"account", "code", "outcome"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:                            "sluice_response_seconds",
			Help:                            "Time from a submit_sm to its answer, in seconds.",
			Buckets:                         []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: 0,
		}, []string{"account"}),
		binds: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_binds",
			Help: "Sessions bound now.",
		}, []string{"account"}),
		bindsWanted: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_binds_wanted",
			Help: "Sessions that the configuration asks for.",
		}, []string{"account"}),
		reconnects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_session_ends_total",
			Help: "Ends of sessions and failed binds, by reason.",
		}, []string{"account", "reason"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_messages_in_flight",
			Help: "Messages taken from the queue and not settled yet.",
		}, []string{"account"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_message_panics_total",
			Help: "Panics while one message was handled; each was recovered and recorded with its message.",
		}, []string{"account"}),
		late: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_late_responses_total",
			Help: "Responses that came after their submit had timed out.",
		}, []string{"account"}),
		receipts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_receipts_total",
			Help: "Delivery receipts, by how their message was found: matched by id, echo of a mark, repeated (no event) or unmatched.",
		}, []string{"account", "match"}),
		unread: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_receipts_unread_total",
			Help: "Delivery receipts that could not be read as a whole: their events have the octets.",
		}, []string{"account"}),
		inbound: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_inbound_total",
			Help: "deliver_sm and data_sm taken from the SMSC, by kind: mo, receipt, or repeated for a message from a phone that was sent again.",
		}, []string{"account", "kind"}),
		inboundFault: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_inbound_refused_total",
			Help: "deliver_sm and data_sm answered with an error because they could not be stored.",
		}, []string{"account"}),
		duplicates: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_possible_duplicates_total",
			Help: "Submits of a message whose earlier submit had an unknown outcome.",
		}, []string{"account"}),
		unserved: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_unserved_messages",
			Help: "Messages on subjects that no instance serves, as the instance that watches their deadlines sees it.",
		}),
		clockJumps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_clock_jumps_total",
			Help: "Times that the clock of the machine was found to have been set by more than 2 s.",
		}),
		buildInfo: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_build_info",
			Help: "1, labelled with the version and commit that run.",
		}, []string{"version", "commit"}),
	}
	if r != nil {
		r.MustRegister(m.submits, m.answers, m.latency, m.binds, m.bindsWanted, m.reconnects, m.inFlight, m.panics,
			m.late, m.receipts, m.unread, m.inbound, m.inboundFault, m.duplicates, m.clockJumps, m.unserved, m.buildInfo)
	}
	return m
}

// counts are the series of one account that every message touches: to look them up by their labels for each would cost
// more than to count.
type counts struct {
	inFlight              prometheus.Gauge
	submits               [classify.Config + 1]prometheus.Counter // by class
	unanswered, submitted prometheus.Counter
	latency               prometheus.Observer
}

func (m *metrics) of(account string) (c counts) {
	c.inFlight, c.latency = m.inFlight.WithLabelValues(account), m.latency.WithLabelValues(account)
	for class := range c.submits {
		c.submits[class] = m.submits.WithLabelValues(account, classify.Class(class).String())
	}
	c.unanswered = m.submits.WithLabelValues(account, "none")
	c.submitted = m.answers.WithLabelValues(account, "0x000", string(queue.EventSubmitted))
	return c
}

// open shows the account's series from the start: of a counter that begins at 1 no alert sees the first rise.
func (m *metrics) open(account string, binds int) {
	m.binds.WithLabelValues(account).Set(0)
	m.bindsWanted.WithLabelValues(account).Set(float64(binds))
	for _, counter := range []*prometheus.CounterVec{m.panics, m.late, m.duplicates, m.inboundFault} {
		counter.WithLabelValues(account)
	}
}

// endReason is the closed set of reasons for the end of a session, as a metric label.
func endReason(err error) string {
	var refused *smpp.BindError
	var deaf *deafError
	switch {
	case errors.As(err, &deaf):
		return "submits_unanswered"
	case errors.As(err, &refused):
		return "bind_refused"
	case errors.Is(err, smpp.ErrUnbound):
		return "unbound_by_smsc"
	case errors.Is(err, smpp.ErrSilent):
		return "silent"
	case errors.Is(err, smpp.ErrNotReading):
		return "not_reading"
	case errors.Is(err, smpp.ErrHungUp):
		return "hung_up"
	case errors.Is(err, smpp.ErrClosed):
		return "closed"
	case errors.Is(err, smpp.ErrNotTLS):
		return "not_tls"
	}
	return "network"
}

// codeLabel is a command_status as a metric label: the number for what the table names, else other.
func codeLabel(name string, status uint32) string {
	const digits = "0123456789ABCDEF"
	if name == "" || name[0] == '(' {
		return "other"
	}
	label := []byte("0x000")
	for i := len(label) - 1; i >= 2; i-- {
		label[i] = digits[status&0xF]
		status >>= 4
	}
	return string(label)
}
