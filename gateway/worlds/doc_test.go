// Package worlds runs whole gateways in simulated time: one to three of them, a real nats-server, one or two SMSCs and
// publishers live in one bubble of virtual time, and what connects them is pipes with a relay on each, which cuts,
// delays, stalls or drops single protocol messages. A world follows from its seed; at its end the promises of the
// README are joined from the SMSCs' ledgers, the journal and what was published.
//
// What one process cannot show (leader changes of a cluster, kill -9 of a real server, slow disks) is tried by
// cmd/chaos on real processes.
package worlds
