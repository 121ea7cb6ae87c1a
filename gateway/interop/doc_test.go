//go:build interop

// Package interop runs the real sluice binary against peers that are not ours:
// an SMSC on the npm library smpp, the library go-smpp, and the nats command.
// `make interop` installs them; a peer that is missing fails the tests.
package interop
