package pdu

import "fmt"

// CommandID is a command_id (SMPP 3.4 section 5.1.2.1, SMPP 5.0 section 4.7.5).
type CommandID uint32

// The command ids of SMPP 3.4. A response carries the id of its request with
// the highest bit set.
const (
	IDGenericNack         CommandID = 0x80000000 // SMPP 3.4 section 4.3.1
	IDBindReceiver        CommandID = 0x00000001 // SMPP 3.4 section 4.1.3
	IDBindReceiverResp    CommandID = 0x80000001 // SMPP 3.4 section 4.1.4
	IDBindTransmitter     CommandID = 0x00000002 // SMPP 3.4 section 4.1.1
	IDBindTransmitterResp CommandID = 0x80000002 // SMPP 3.4 section 4.1.2
	IDQuerySM             CommandID = 0x00000003 // SMPP 3.4 section 4.8.1
	IDQuerySMResp         CommandID = 0x80000003 // SMPP 3.4 section 4.8.2
	IDSubmitSM            CommandID = 0x00000004 // SMPP 3.4 section 4.4.1
	IDSubmitSMResp        CommandID = 0x80000004 // SMPP 3.4 section 4.4.2
	IDDeliverSM           CommandID = 0x00000005 // SMPP 3.4 section 4.6.1
	IDDeliverSMResp       CommandID = 0x80000005 // SMPP 3.4 section 4.6.2
	IDUnbind              CommandID = 0x00000006 // SMPP 3.4 section 4.2.1
	IDUnbindResp          CommandID = 0x80000006 // SMPP 3.4 section 4.2.2
	IDReplaceSM           CommandID = 0x00000007 // SMPP 3.4 section 4.10.1
	IDReplaceSMResp       CommandID = 0x80000007 // SMPP 3.4 section 4.10.2
	IDCancelSM            CommandID = 0x00000008 // SMPP 3.4 section 4.9.1
	IDCancelSMResp        CommandID = 0x80000008 // SMPP 3.4 section 4.9.2
	IDBindTransceiver     CommandID = 0x00000009 // SMPP 3.4 section 4.1.5
	IDBindTransceiverResp CommandID = 0x80000009 // SMPP 3.4 section 4.1.6
	IDOutbind             CommandID = 0x0000000B // SMPP 3.4 section 4.1.7; has no response
	IDEnquireLink         CommandID = 0x00000015 // SMPP 3.4 section 4.11.1
	IDEnquireLinkResp     CommandID = 0x80000015 // SMPP 3.4 section 4.11.2
	IDSubmitMulti         CommandID = 0x00000021 // SMPP 3.4 section 4.5.1
	IDSubmitMultiResp     CommandID = 0x80000021 // SMPP 3.4 section 4.5.2
	IDAlertNotification   CommandID = 0x00000102 // SMPP 3.4 section 4.12.1; has no response
	IDDataSM              CommandID = 0x00000103 // SMPP 3.4 section 4.7.1
	IDDataSMResp          CommandID = 0x80000103 // SMPP 3.4 section 4.7.2
)

// The broadcast commands of SMPP 5.0 section 4.4 are known by name, so that
// logs can name them; Parse answers them with *UnknownCommandError.
const (
	IDBroadcastSM           CommandID = 0x00000111
	IDBroadcastSMResp       CommandID = 0x80000111
	IDQueryBroadcastSM      CommandID = 0x00000112
	IDQueryBroadcastSMResp  CommandID = 0x80000112
	IDCancelBroadcastSM     CommandID = 0x00000113
	IDCancelBroadcastSMResp CommandID = 0x80000113
)

const responseBit CommandID = 0x80000000

// IsResponse reports whether the highest bit is set. It is set in generic_nack
// too, which answers a request of any kind.
func (c CommandID) IsResponse() bool { return c&responseBit != 0 }

// Response returns the command id that answers c. It is c itself when c is a
// response already. Mind that outbind and alert_notification have none.
func (c CommandID) Response() CommandID { return c | responseBit }

// String returns the name the specification uses, such as "submit_sm", or the
// number as "0x0000011F" when the id is not known.
func (c CommandID) String() string {
	if c == IDGenericNack {
		return "generic_nack"
	}
	name := requestName(c &^ responseBit)
	switch {
	case name == "":
		return fmt.Sprintf("0x%08X", uint32(c))
	case !c.IsResponse():
		return name
	case c == IDOutbind.Response() || c == IDAlertNotification.Response():
		return fmt.Sprintf("0x%08X", uint32(c))
	}
	return name + "_resp"
}

func requestName(c CommandID) string {
	switch c { //nolint:exhaustive // responses take the name of their request
	case IDBindReceiver:
		return "bind_receiver"
	case IDBindTransmitter:
		return "bind_transmitter"
	case IDQuerySM:
		return "query_sm"
	case IDSubmitSM:
		return "submit_sm"
	case IDDeliverSM:
		return "deliver_sm"
	case IDUnbind:
		return "unbind"
	case IDReplaceSM:
		return "replace_sm"
	case IDCancelSM:
		return "cancel_sm"
	case IDBindTransceiver:
		return "bind_transceiver"
	case IDOutbind:
		return "outbind"
	case IDEnquireLink:
		return "enquire_link"
	case IDSubmitMulti:
		return "submit_multi"
	case IDAlertNotification:
		return "alert_notification"
	case IDDataSM:
		return "data_sm"
	case IDBroadcastSM:
		return "broadcast_sm"
	case IDQueryBroadcastSM:
		return "query_broadcast_sm"
	case IDCancelBroadcastSM:
		return "cancel_broadcast_sm"
	}
	return ""
}
