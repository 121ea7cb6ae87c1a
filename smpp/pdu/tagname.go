package pdu

// highestNamed is the highest tag that the specifications name; vendors' tags
// lie above.
const highestNamed = TagItsSessionInfo

// TagNamed returns the tag with that name in the specification, such as
// "user_response_code".
func TagNamed(name string) (Tag, bool) {
	for t := Tag(1); t <= highestNamed; t++ {
		if _, n := t.describe(); n == name && name != "" {
			return t, true
		}
	}
	return 0, false
}
