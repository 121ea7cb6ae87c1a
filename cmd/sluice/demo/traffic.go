package demo

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"sluice/queue"
)

// The recipients are numbers of country code 999, which is assigned to nobody. What begins with badPrefix does not
// exist at the SMSC either.
const (
	goodPrefix = "9991"
	badPrefix  = "9990"
)

// oneIn is the share of bad recipients: 2 %.
const oneIn = 50

// traffic is the messages of a run: one for each recipient, in the order in which they are published.
type traffic struct {
	recipients []string // as they go on the wire: digits alone
	bad        int
}

// newTraffic draws which of the messages go to bad recipients.
func newTraffic(messages int, seed uint64) traffic {
	t := traffic{recipients: make([]string, messages), bad: messages / oneIn}
	for at, drawn := range rand.New(rand.NewPCG(seed, 0)).Perm(messages) {
		prefix := goodPrefix
		if drawn < t.bad {
			prefix = badPrefix
		}
		t.recipients[at] = fmt.Sprintf("%s%07d", prefix, at)
	}
	return t
}

func isBad(recipient string) bool { return recipient[:len(badPrefix)] == badPrefix }

// messages are what is published for a route. Their ids begin with its name.
func (t traffic) messages(route string) iter.Seq[queue.Outgoing] {
	return func(yield func(queue.Outgoing) bool) {
		for i, recipient := range t.recipients {
			m := &queue.Message{
				ID: id(route, recipient), From: "sluice", To: "+" + recipient,
				Text: fmt.Sprintf("Your parcel %d is on its way.", i+1),
			}
			if !yield(queue.Outgoing{Route: route, Class: class, Message: m}) {
				return
			}
		}
	}
}

// id is the delivery id of a message.
func id(route, recipient string) string { return route + "-" + recipient }
