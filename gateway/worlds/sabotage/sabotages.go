package main

// sabotage is one broken line of the delivery.
type sabotage struct {
	name     string
	promise  string // that must break
	file     string
	old, new string // old is there once
	seed     int    // tried first: it has found the sabotage before, 0: none has
}

// sabotages are the ways in which the delivery may be broken by one line.
func sabotages() []sabotage {
	return []sabotage{
		// Settling: the order and the looks that a message's one final rests on.
		{
			"ack-before-journal", "exactly one final", "queue/settle.go",
			"		won, err = d.appendFinal(ctx, e, storeOptions{ours: d.uncontested})",
			"		d.acknowledge(false); won, err = d.appendFinal(ctx, e, storeOptions{ours: d.uncontested})", 4,
		},
		{
			"acknowledgement-dropped", "settled in time", "queue/settle.go",
			"	d.intake.journal.put(write{subject: reply, data: ackOctets, keep: true})", "	_ = reply", 1,
		},
		{
			"event-not-stored", "exactly one final", "queue/journal.go", "	return j.storeOnce(ctx, e, *w, *o)", "	return nil", 1,
		},
		{
			"final-without-its-id", "exactly one final", "queue/journal.go", "		o.once = onceFinal(e.Seq)", "		o.once = \"\"", 4,
		},
		{
			"doubt-about-a-write-forgotten", "exactly one final", "queue/journal.go",
			"		o.doubt = o.doubt || errors.Is(err, errUnconfirmed)", "		o.doubt, o.once, w.once = false, \"\", \"\"", 4,
		},
		{
			"claim-skipped", "exactly one final", "queue/settle.go", "	winner, _, err := j.claimFinal(ctx, e)", "	winner, err := (*Event)(nil), error(nil)", 1,
		},
		{
			"late-final-not-marked", "doubles are marked", "queue/settle.go", "		e.PossibleDuplicate = e.PossibleDuplicate || again", "		_ = again", 0,
		},
		{
			"receipts-not-indexed", "receipts", "queue/settle.go", "	for _, key := range keys {", "	for _, key := range keys[:0] {", 5,
		},
		{
			"record-not-stored", "states are kept", "queue/settle.go", "	err := d.storeRecord(ctx, s, account, reason)", "	err := error(nil)", 0,
		},
		{
			"record-without-state", "states are kept", "queue/settle.go", "Published: d.published, At: time.Now().UTC(), State: s,", "Published: d.published, At: time.Now().UTC(),", 6,
		},
		{
			"confirmed-event-forgotten", "exactly one final", "queue/lately.go", "	for _, c := range j.lately.since(failed.Add(-j.timeout - latelyFor)) {",
			"	for _, c := range j.lately.since(failed.Add(-j.timeout - latelyFor))[:0] {", 2,
		},

		// Redelivery: what an earlier delivery left behind.
		{
			"redelivery-not-explained", "doubles are marked", "queue/redelivery.go", "	if err != nil || !suspect {", "	if true || !suspect {", 4,
		},
		{
			"record-not-read", "states are kept", "queue/redelivery.go", "	d.revision = revision\n	if record == nil", "	d.revision, record = revision, nil\n	if record == nil", 8,
		},
		{
			"final-in-the-journal-not-seen", "exactly one final", "queue/redelivery.go", "	case trail.final != nil:", "	case trail.final != nil && trail.final.Seq == 0:", 1,
		},
		{
			"record-not-opened", "doubles are marked", "queue/redelivery.go", "	r.Open = true\n	d.opened", "	d.opened", 3,
		},
		{
			"claimed-final-not-seen", "doubles are marked", "queue/redelivery.go", "	if !d.state.InDoubt() {", "	if d.seq > 0 {", 0,
		},
		{
			"wait-not-kept", "asked waits", "queue/redelivery.go", "rest(d.state.NextAttemptAt, d.noted, now) > 0 {\n		// A restart", "now.IsZero() {\n		// A restart", 2,
		},
		{
			"unexplained-is-new", "doubles are marked", "queue/redelivery.go", "	d.state.Unexplained = true", "	d.state.Unexplained = false", 4,
		},

		// The decision: what a verdict does.
		{
			"silence-not-marked", "doubles are marked", "gateway/outcome.go", "	st.PossibleDuplicate, st.Unexplained = true, false", "	st.Unexplained = false", 6,
		},
		{
			"silence-resent-at-once", "asked waits", "gateway/outcome.go", "	return r.putBack(now, l, queue.EventUnknownOutcome, reason, now.Add(r.unknown.after))",
			"	return r.putBack(now, l, queue.EventUnknownOutcome, reason, now)", 6,
		},
		{
			"silence-resent-for-ever", "one resend", "gateway/outcome.go", "	case st.Unknowns > r.unknown.max:", "	case st.Unknowns > r.unknown.max+9:", 6,
		},
		{
			"throttle-uses-an-attempt", "throttles use no attempt", "gateway/outcome.go", "		l.state.Throttles++\n		return", "		l.state.Throttles++; l.state.Attempts++\n		return", 3,
		},
		{
			"part-makes-the-message", "nothing lost", "gateway/outcome.go", "return len(l.state.Accepted) >= max(l.parts, 1)", "return len(l.state.Accepted) >= 1", 3,
		},
		{
			"outage-uses-attempts", "an outage uses no attempt", "gateway/outcome.go", "	return r.waitUntil(now, l, queue.EventRetry, reasonAccountFailing, now.Add(max(delay, asked)), false)",
			"	return r.attemptUsed(now, l, max(delay, asked), reasonRetry, 3)", 2,
		},
		{
			"outage-not-given-back", "an outage uses no attempt", "gateway/faults.go", "			st.Attempts = max(st.Attempts-1, 0)\n			continue", "			_ = at", 0,
		},
		{
			"retries-that-expire", "retries end in time", "gateway/outcome.go", "sum > room {", "sum > room && limit < 0 {", 1,
		},
		{
			"retry-is-for-good", "the attempts that there are", "gateway/outcome.go", "	if st.Attempts >= limit {", "	if st.Attempts >= 1 {", 2,
		},

		// One message between its permit and its settlement.
		{
			"unsent-and-unanswered-mixed-up", "doubles are marked", "gateway/deliver.go", "		if errors.Is(err, smpp.ErrNotSent) {\n			permit", "		if err != nil {\n			permit", 6,
		},
		{
			"accepted-part-sent-again", "doubles are marked", "gateway/deliver.go", "		if !slices.ContainsFunc(st.Accepted, taken) {", "		if !slices.ContainsFunc(st.Accepted, taken) || true {", 6,
		},
		{
			"deadline-not-kept", "deadlines", "gateway/deliver.go", "	d.ends = lasting{Context: ctx, deadline: d.letter.deadline}", "	d.ends = lasting{Context: ctx}", 1,
		},
		{
			"permit-not-released", "settled in time", "gateway/deliver.go", "			permit.Release(signal)\n		} else", "			_ = permit\n		} else", 0,
		},
		{
			"late-response-ignored", "late responses count", "gateway/late.go", "	won, err := d.job.SettleLate(a.work, o)", "	won, err := false, a.work.Err()", 0,
		},
		{
			"part-goes-over-another-account", "doubles are marked", "gateway/outcome.go", "		l.state.Account, l.state.Bind = r.account, l.bind // the other parts have to go the same way", "		l.state.Bind = l.bind", 0,
		},

		// NATS that stalls, instances that share.
		{
			"journal-tried-again-late", "no silence", "queue/journal_health.go",
			"	probeFirst   = 50 * time.Millisecond\n", "	probeFirst   = 30 * time.Second\n", 15,
		},
		{
			"journal-not-mended-by-a-read", "settled in time", "queue/journal_health.go", "			if !f.isMended() && j.probe(f.stream) == nil { // it only read", "			if f == nil { // it only read", 15,
		},
		{
			"lease-not-asked", "the declared rate", "gateway/flow.go", "		lapsed := !time.Now().Before(f.confirmed)\n", "		confirmed = confirmed.Add(time.Hour); lapsed := !time.Now().Before(f.confirmed)\n", 0,
		},
		{
			"shares-taken-twice", "the declared rate", "gateway/share.go", "	if t.says.rate+said.rate <= 1+rounding {", "	if t.says.rate+said.rate <= 2+rounding {", 0,
		},
		{
			"hold-not-respected", "asked waits", "gateway/outcome.go",
			"now.Add(a.verdict.Hold))\n	case classify.Retry:", "now)\n	case classify.Retry:", 0,
		},
		{
			"nak-without-delay", "asked waits", "queue/settle.go", "		j.put(nak(reply, next.Sub(now)))", "		j.put(nak(reply, 0))", 1,
		},
		{
			"cancel-ignored", "cancelled is not sent", "queue/delivery.go",
			"return d.intake.client.cancels.has(d.seq) }", "return d.seq == 0 && d.intake.client.cancels.has(d.seq) }", 3,
		},
		{
			"claim-taken-by-everybody", "exactly one final", "queue/finals.go",
			"header:  nats.Header{headerExpected: {\"0\"}},", "header:  nats.Header{},", 0,
		},
		{
			"sweeper-sleeps", "ended at the deadline", "queue/sweep.go", "	for len(l.due) > 0 && !l.due[0].look.After(now) {", "	for len(l.due) > 1<<20 && !l.due[0].look.After(now) {", 5,
		},

		// The window's place in it, and what comes in.
		{
			"inbound-acknowledged-and-dropped", "receipts", "gateway/inbound.go", "	if r, ok := a.receiptIn(in, m); ok {", "	if r, ok := a.receiptIn(in, m); ok && deliveries > 1 {", 1,
		},
	}
}
