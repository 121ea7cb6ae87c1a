//go:build interop

// Package interop holds conversations between Sluice's SMPP and that of others,
// over loopback TCP: our session against the SMSCs of npm smpp, Net::SMPP and
// go-smpp, and Kannel, npm smpp, Net::SMPP and go-smpp as clients of our fake
// SMSC. Every conversation is captured; the octets are held against what our
// codec makes of them and against tshark.
//
// `make peers` installs the peers, tshark among them; the right to capture on lo
// must be there. What is missing fails the tests.
package interop
