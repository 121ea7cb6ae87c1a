package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// longestMessageID is SMPP's limit for message_id, in octets (SMPP 3.4 section 5.2.23).
const longestMessageID = 65

// cleanMessageID is an SMSC's message_id as events, keys and terminals may carry it: itself when it is printable ASCII
// of the length that SMPP allows, else "sha256:" with the beginning of its hash. Equal ids stay equal.
func cleanMessageID(id string) string {
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(id) <= longestMessageID && strings.IndexFunc(id, strange) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:16])
}
