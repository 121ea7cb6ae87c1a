package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"sluice/smpp/pdu"
)

// When a PDU of the SMSC repeats an earlier one.
const (
	// answerPatience is how late our answer may be before the SMSC may have given the PDU up.
	answerPatience = 5 * time.Second
	// endPatience is how long after a PDU the end of its session may have swallowed our answer.
	endPatience = time.Minute
	// repeatPatience is how long the SMSC may take to send it again.
	repeatPatience = 10 * time.Minute
	// mostArrivals bounds what is remembered of an account, about 200 octets each, and mostAlike how many PDUs of the
	// same octets: they are looked through one by one.
	mostArrivals = 200_000
	mostAlike    = 64
)

// octetsOf names the octets of a PDU but for its sequence number and length: equal names, equal PDUs.
func octetsOf(raw []byte) string {
	h := sha256.New()
	_, _ = h.Write(raw[4 : pdu.HeaderLen-4]) // a hash never fails
	_, _ = h.Write(raw[pdu.HeaderLen:])
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:15])
}

// arrivals remembers what the SMSC has sent of late, to tell a PDU that it sends again because it may not have seen our
// answer from one that says the same once more: a person who writes YES twice has written two messages. The zero value
// works.
type arrivals struct {
	mu       sync.Mutex
	byOctets map[string][]*arrival
	fresh    []*arrival // by the time they came: their session may still end
	doubtful []*arrival // by the time they were found to be so
}

// arrival is one PDU that was stored, or may have been.
type arrival struct {
	octets string
	once   string // the name that it was stored under
	at     time.Time
	from   *sessionLife
	late   bool // our answer came late
	unsure bool // storing it failed, as far as was known; it was refused
	gone   bool // it is forgotten, or another has taken its place
}

// sessionLife is a session as far as its PDUs are concerned; arrivals guards it.
type sessionLife struct {
	id    string
	ended time.Time // zero: it lives
}

// unseen says whether the SMSC may not have seen our answer.
func (p *arrival) unseen() bool {
	return p.late || p.unsure || !p.from.ended.IsZero() && p.from.ended.Sub(p.at) < endPatience
}

// took notes a PDU that was dealt with.
func (a *arrivals) took(now time.Time, p *arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep(now)
	if len(a.fresh) >= mostArrivals {
		a.forget(a.fresh[0])
		a.fresh = a.fresh[1:]
	}
	if a.byOctets == nil {
		a.byOctets = map[string][]*arrival{}
	}
	if alike := a.byOctets[p.octets]; len(alike) >= mostAlike {
		a.forget(alike[0])
	}
	a.byOctets[p.octets] = append(a.byOctets[p.octets], p)
	a.fresh = append(a.fresh, p)
}

// repeated takes out an earlier PDU of the same octets whose answer may not have been seen, nil when there is none;
// known says that there is one whose answer was. Each explains one repeat.
func (a *arrivals) repeated(now time.Time, octets string) (earlier *arrival, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep(now)
	for _, p := range a.byOctets[octets] {
		if p.unseen() {
			a.forget(p)
			return p, true
		}
	}
	return nil, len(a.byOctets[octets]) > 0
}

// end notes the end of a session.
func (a *arrivals) end(now time.Time, from *sessionLife) {
	a.mu.Lock()
	defer a.mu.Unlock()
	from.ended = now
}

// endOf is when a session ended, zero while it lives.
func (a *arrivals) endOf(from *sessionLife) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return from.ended
}

// sweep forgets what no repeat can be about any more.
func (a *arrivals) sweep(now time.Time) {
	for len(a.fresh) > 0 && now.Sub(a.fresh[0].at) >= endPatience {
		p := a.fresh[0]
		a.fresh = a.fresh[1:]
		switch {
		case p.gone:
		case p.unseen() && len(a.doubtful) < mostArrivals:
			a.doubtful = append(a.doubtful, p)
		default:
			a.forget(p)
		}
	}
	for len(a.doubtful) > 0 && (a.doubtful[0].gone || now.Sub(a.doubtful[0].at) >= repeatPatience) {
		a.forget(a.doubtful[0])
		a.doubtful = a.doubtful[1:]
	}
}

// forget takes one out. It stays in its queue until its turn.
func (a *arrivals) forget(p *arrival) {
	if p.gone {
		return
	}
	p.gone = true
	same := a.byOctets[p.octets]
	for i := range same {
		if same[i] == p {
			same = append(same[:i], same[i+1:]...)
			break
		}
	}
	if a.byOctets[p.octets] = same; len(same) == 0 {
		delete(a.byOctets, p.octets)
	}
}
