// Package longtest marks the tests that take long. `make test` passes -short and leaves them out, each with a reason that
// is printed; `make test-long` runs them and nothing else: .ci/test-long finds them by the calls of this package.
package longtest

import "testing"

// Only leaves the test out under -short. why says what takes long.
func Only(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("long: %s; make test-long runs it", why)
	}
}

// Whole tells whether the test is to do all that it can. Under -short it is not, and the test does what part names.
func Whole(t testing.TB, part string) bool {
	t.Helper()
	if testing.Short() {
		t.Logf("short: %s; make test-long does the rest", part)
		return false
	}
	return true
}
