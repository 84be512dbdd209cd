package message

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of a receiver's answer, of trace_service.proto.
const (
	answerPartial   = 1
	partialRejected = 1
)

// errAnswer says that an answer is none of the protocol.
var errAnswer = errors.New("it is not an answer of OTLP")

// Rejected reads how many spans a receiver says it did not take although it took
// the request. An empty answer says none.
func Rejected(answer []byte) (rejected int64, err error) {
	err = eachField(answer, func(field protowire.Number, value []byte, _ uint64) error {
		if field != answerPartial || value == nil {
			return nil
		}
		return eachField(value, func(field protowire.Number, value []byte, n uint64) error {
			if field == partialRejected && value == nil {
				rejected = max(0, int64(n))
			}
			return nil
		})
	})
	return rejected, err
}

// eachField gives the fields of a message: the bytes of one that has a length (not
// nil), the number of one that is a number.
func eachField(data []byte, give func(field protowire.Number, value []byte, n uint64) error) error {
	for len(data) > 0 {
		field, kind, used := protowire.ConsumeTag(data)
		if used < 0 {
			return errAnswer
		}
		data = data[used:]
		var value []byte
		var n uint64
		switch kind {
		case protowire.BytesType:
			if value, used = protowire.ConsumeBytes(data); used >= 0 {
				value = append([]byte{}, value...)
			}
		case protowire.VarintType:
			n, used = protowire.ConsumeVarint(data)
		default:
			used = protowire.ConsumeFieldValue(field, kind, data)
		}
		if used < 0 {
			return errAnswer
		}
		data = data[used:]
		if kind != protowire.BytesType && kind != protowire.VarintType {
			continue
		}
		if err := give(field, value, n); err != nil {
			return err
		}
	}
	return nil
}
