// Package pdu encodes and decodes the protocol data units of SMPP 3.4, with
// the command statuses and the TLVs of SMPP 5.0.
//
// It works on byte slices and holds no state: no connection, no clock, no
// goroutine. Append writes a whole PDU behind what a buffer already holds;
// the ParseBody method of each PDU reads one back, and every []byte field it
// sets aliases the input, so it is valid until that buffer is reused.
//
// Writing is strict and reading is tolerant. Append refuses a field that
// breaks its limit, with an error that names the field, its length and the
// limit, never its content. ParseBody takes what peers are known to send:
// strings longer than the specification allows, octets behind the last field,
// a TLV whose tail was cut off, and responses without a body.
package pdu
