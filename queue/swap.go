package queue

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// swapTries bounds the tries of a change that others are faster with.
const swapTries = 16

// swap changes the value of a key by compare and swap. It begins with a value that
// is not there, and reads only when it was wrong: change is called again then, with
// what is stored, and says whether it changed anything and for how long the value
// is kept.
func swap[T any](ctx context.Context, c *Client, bucket, key string, change func(*T) (changed bool, ttl time.Duration)) error {
	revision := uint64(0)
	v := new(T)
	for range swapTries {
		changed, ttl := change(v)
		if !changed {
			return nil
		}
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, err = c.replace(ctx, &nats.Msg{
			Subject: bucketSubject(bucket, key), Header: nats.Header{headerTTL: {ttlOf(ttl)}}, Data: data,
		}, revision)
		if !errors.Is(err, errMovedOn) {
			return err
		}
		v = new(T)
		if revision, _, err = c.readKey(ctx, bucket, key, v); err != nil {
			return err
		}
	}
	return errMovedOn
}
