package pdu

import "fmt"

// Status is a command_status (SMPP 3.4 section 5.1.3, SMPP 5.0 section 4.7.6).
// Requests carry StatusOK. 0x0400 to 0x04FF are for vendors; this package passes
// every value on as it is.
type Status uint32

// The statuses of SMPP 3.4 and 5.0.
const (
	StatusOK              Status = 0x00 // ESME_ROK: request accepted
	StatusInvMsgLen       Status = 0x01 // ESME_RINVMSGLEN: text too long or of a length the centre will not take
	StatusInvCmdLen       Status = 0x02 // ESME_RINVCMDLEN: PDU length field does not fit the PDU
	StatusInvCmdID        Status = 0x03 // ESME_RINVCMDID: operation not known or not allowed here
	StatusInvBndSts       Status = 0x04 // ESME_RINVBNDSTS: operation not valid in present session state
	StatusAlreadyBound    Status = 0x05 // ESME_RALYBND: session limit reached or session already bound
	StatusInvPrtFlg       Status = 0x06 // ESME_RINVPRTFLG: priority_flag value refused
	StatusInvRegDlvFlg    Status = 0x07 // ESME_RINVREGDLVFLG: registered_delivery value refused
	StatusSysErr          Status = 0x08 // ESME_RSYSERR: internal fault at the centre
	StatusInvSrcAdr       Status = 0x0A // ESME_RINVSRCADR: sender address refused
	StatusInvDstAdr       Status = 0x0B // ESME_RINVDSTADR: recipient address refused
	StatusInvMsgID        Status = 0x0C // ESME_RINVMSGID: message_id not known (query/cancel/replace)
	StatusBindFail        Status = 0x0D // ESME_RBINDFAIL: bind refused, no detail
	StatusInvPaswd        Status = 0x0E // ESME_RINVPASWD: wrong password
	StatusInvSysID        Status = 0x0F // ESME_RINVSYSID: unknown system_id
	StatusCancelFail      Status = 0x11 // ESME_RCANCELFAIL: cancel_sm failed
	StatusReplaceFail     Status = 0x13 // ESME_RREPLACEFAIL: replace_sm failed
	StatusMsgQFull        Status = 0x14 // ESME_RMSGQFUL: queue full: ours, the recipient's or the whole centre's
	StatusInvSerTyp       Status = 0x15 // ESME_RINVSERTYP: service_type refused
	StatusInvNumDests     Status = 0x33 // ESME_RINVNUMDESTS: submit_multi destination count refused
	StatusInvDLName       Status = 0x34 // ESME_RINVDLNAME: distribution list name unknown
	StatusInvDestFlag     Status = 0x40 // ESME_RINVDESTFLAG: submit_multi dest_flag invalid
	StatusInvSubRep       Status = 0x42 // ESME_RINVSUBREP: submit-with-replace refused
	StatusInvEsmClass     Status = 0x43 // ESME_RINVESMCLASS: esm_class refused
	StatusCntSubDL        Status = 0x44 // ESME_RCNTSUBDL: cannot submit to distribution list
	StatusSubmitFail      Status = 0x45 // ESME_RSUBMITFAIL: submit failed, no reason given
	StatusInvSrcTON       Status = 0x48 // ESME_RINVSRCTON: sender TON refused
	StatusInvSrcNPI       Status = 0x49 // ESME_RINVSRCNPI: sender NPI refused
	StatusInvDstTON       Status = 0x50 // ESME_RINVDSTTON: recipient TON refused
	StatusInvDstNPI       Status = 0x51 // ESME_RINVDSTNPI: recipient NPI refused
	StatusInvSysTyp       Status = 0x53 // ESME_RINVSYSTYP: system_type refused
	StatusInvRepFlag      Status = 0x54 // ESME_RINVREPFLAG: replace_if_present_flag refused
	StatusInvNumMsgs      Status = 0x55 // ESME_RINVNUMMSGS: number_of_messages refused
	StatusThrottled       Status = 0x58 // ESME_RTHROTTLED: too fast for the allowed rate
	StatusInvSched        Status = 0x61 // ESME_RINVSCHED: schedule_delivery_time refused
	StatusInvExpiry       Status = 0x62 // ESME_RINVEXPIRY: validity_period refused
	StatusInvDftMsgID     Status = 0x63 // ESME_RINVDFTMSGID: predefined message unknown
	StatusTempAppErr      Status = 0x64 // ESME_RX_T_APPN: receiver application: temporary
	StatusPermAppErr      Status = 0x65 // ESME_RX_P_APPN: receiver application: permanent
	StatusRejectAppErr    Status = 0x66 // ESME_RX_R_APPN: receiver application: refused message
	StatusQueryFail       Status = 0x67 // ESME_RQUERYFAIL: query_sm failed
	StatusInvTLVStream    Status = 0xC0 // ESME_RINVTLVSTREAM: optional part cannot be parsed (3.4 name RINVOPTPARSTREAM)
	StatusTLVNotAllowed   Status = 0xC1 // ESME_RTLVNOTALLWD: a TLV is not allowed here (3.4 name ROPTPARNOTALLWD)
	StatusInvTLVLen       Status = 0xC2 // ESME_RINVTLVLEN: a TLV/field has a bad length (3.4 name RINVPARLEN)
	StatusMissingTLV      Status = 0xC3 // ESME_RMISSINGTLV: a needed TLV is missing (3.4 name RMISSINGOPTPARAM)
	StatusInvTLVVal       Status = 0xC4 // ESME_RINVTLVVAL: a TLV value is refused (3.4 name RINVOPTPARAMVAL)
	StatusDeliveryFailure Status = 0xFE // ESME_RDELIVERYFAILURE: transaction-mode delivery failed
	StatusUnknownErr      Status = 0xFF // ESME_RUNKNOWNERR: unspecified error
)

// The statuses SMPP 5.0 added.
const (
	StatusSerTypUnauth      Status = 0x100 // ESME_RSERTYPUNAUTH: not allowed to use this service_type
	StatusProhibited        Status = 0x101 // ESME_RPROHIBITED: not allowed to use this operation
	StatusSerTypUnavail     Status = 0x102 // ESME_RSERTYPUNAVAIL: service_type not available now
	StatusSerTypDenied      Status = 0x103 // ESME_RSERTYPDENIED: service_type denied
	StatusInvDCS            Status = 0x104 // ESME_RINVDCS: data_coding refused
	StatusInvSrcAddrSubunit Status = 0x105 // ESME_RINVSRCADDRSUBUNIT: source_addr_subunit refused
	StatusInvDstAddrSubunit Status = 0x106 // ESME_RINVDSTADDRSUBUNIT: dest_addr_subunit refused
	StatusInvBcastFreqInt   Status = 0x107 // ESME_RINVBCASTFREQINT: broadcast frequency interval invalid
	StatusInvBcastAliasName Status = 0x108 // ESME_RINVBCASTALIAS_NAME: broadcast alias invalid
	StatusInvBcastAreaFmt   Status = 0x109 // ESME_RINVBCASTAREAFMT: broadcast area format invalid
	StatusInvNumBcastAreas  Status = 0x10A // ESME_RINVNUMBCAST_AREAS: broadcast area count invalid
	StatusInvBcastCntType   Status = 0x10B // ESME_RINVBCASTCNTTYPE: broadcast content type invalid
	StatusInvBcastMsgClass  Status = 0x10C // ESME_RINVBCASTMSGCLASS: broadcast message class invalid
	StatusBcastFail         Status = 0x10D // ESME_RBCASTFAIL: broadcast_sm failed
	StatusBcastQueryFail    Status = 0x10E // ESME_RBCASTQUERYFAIL: query_broadcast_sm failed
	StatusBcastCancelFail   Status = 0x10F // ESME_RBCASTCANCELFAIL: cancel_broadcast_sm failed
	StatusInvBcastRep       Status = 0x110 // ESME_RINVBCAST_REP: broadcast repeat count invalid
	StatusInvBcastSrvGrp    Status = 0x111 // ESME_RINVBCASTSRVGRP: broadcast service group invalid
	StatusInvBcastChanInd   Status = 0x112 // ESME_RINVBCASTCHANIND: broadcast channel indicator invalid
)

// String returns the name of SMPP 5.0, such as "ESME_RTHROTTLED", or the number
// as "0x00000400" when the status is reserved or a vendor's own.
func (s Status) String() string {
	if name := statusName(s); name != "" {
		return name
	}
	return fmt.Sprintf("0x%08X", uint32(s))
}

func statusName(s Status) string {
	switch s {
	case StatusOK:
		return "ESME_ROK"
	case StatusInvMsgLen:
		return "ESME_RINVMSGLEN"
	case StatusInvCmdLen:
		return "ESME_RINVCMDLEN"
	case StatusInvCmdID:
		return "ESME_RINVCMDID"
	case StatusInvBndSts:
		return "ESME_RINVBNDSTS"
	case StatusAlreadyBound:
		return "ESME_RALYBND"
	case StatusInvPrtFlg:
		return "ESME_RINVPRTFLG"
	case StatusInvRegDlvFlg:
		return "ESME_RINVREGDLVFLG"
	case StatusSysErr:
		return "ESME_RSYSERR"
	case StatusInvSrcAdr:
		return "ESME_RINVSRCADR"
	case StatusInvDstAdr:
		return "ESME_RINVDSTADR"
	case StatusInvMsgID:
		return "ESME_RINVMSGID"
	case StatusBindFail:
		return "ESME_RBINDFAIL"
	case StatusInvPaswd:
		return "ESME_RINVPASWD"
	case StatusInvSysID:
		return "ESME_RINVSYSID"
	case StatusCancelFail:
		return "ESME_RCANCELFAIL"
	case StatusReplaceFail:
		return "ESME_RREPLACEFAIL"
	case StatusMsgQFull:
		return "ESME_RMSGQFUL"
	case StatusInvSerTyp:
		return "ESME_RINVSERTYP"
	case StatusInvNumDests:
		return "ESME_RINVNUMDESTS"
	case StatusInvDLName:
		return "ESME_RINVDLNAME"
	case StatusInvDestFlag:
		return "ESME_RINVDESTFLAG"
	case StatusInvSubRep:
		return "ESME_RINVSUBREP"
	case StatusInvEsmClass:
		return "ESME_RINVESMCLASS"
	case StatusCntSubDL:
		return "ESME_RCNTSUBDL"
	case StatusSubmitFail:
		return "ESME_RSUBMITFAIL"
	case StatusInvSrcTON:
		return "ESME_RINVSRCTON"
	case StatusInvSrcNPI:
		return "ESME_RINVSRCNPI"
	case StatusInvDstTON:
		return "ESME_RINVDSTTON"
	case StatusInvDstNPI:
		return "ESME_RINVDSTNPI"
	case StatusInvSysTyp:
		return "ESME_RINVSYSTYP"
	case StatusInvRepFlag:
		return "ESME_RINVREPFLAG"
	case StatusInvNumMsgs:
		return "ESME_RINVNUMMSGS"
	case StatusThrottled:
		return "ESME_RTHROTTLED"
	case StatusInvSched:
		return "ESME_RINVSCHED"
	case StatusInvExpiry:
		return "ESME_RINVEXPIRY"
	case StatusInvDftMsgID:
		return "ESME_RINVDFTMSGID"
	case StatusTempAppErr:
		return "ESME_RX_T_APPN"
	case StatusPermAppErr:
		return "ESME_RX_P_APPN"
	case StatusRejectAppErr:
		return "ESME_RX_R_APPN"
	case StatusQueryFail:
		return "ESME_RQUERYFAIL"
	case StatusInvTLVStream:
		return "ESME_RINVTLVSTREAM"
	case StatusTLVNotAllowed:
		return "ESME_RTLVNOTALLWD"
	case StatusInvTLVLen:
		return "ESME_RINVTLVLEN"
	case StatusMissingTLV:
		return "ESME_RMISSINGTLV"
	case StatusInvTLVVal:
		return "ESME_RINVTLVVAL"
	case StatusDeliveryFailure:
		return "ESME_RDELIVERYFAILURE"
	case StatusUnknownErr:
		return "ESME_RUNKNOWNERR"
	case StatusSerTypUnauth:
		return "ESME_RSERTYPUNAUTH"
	case StatusProhibited:
		return "ESME_RPROHIBITED"
	case StatusSerTypUnavail:
		return "ESME_RSERTYPUNAVAIL"
	case StatusSerTypDenied:
		return "ESME_RSERTYPDENIED"
	case StatusInvDCS:
		return "ESME_RINVDCS"
	case StatusInvSrcAddrSubunit:
		return "ESME_RINVSRCADDRSUBUNIT"
	case StatusInvDstAddrSubunit:
		return "ESME_RINVDSTADDRSUBUNIT"
	case StatusInvBcastFreqInt:
		return "ESME_RINVBCASTFREQINT"
	case StatusInvBcastAliasName:
		return "ESME_RINVBCASTALIAS_NAME"
	case StatusInvBcastAreaFmt:
		return "ESME_RINVBCASTAREAFMT"
	case StatusInvNumBcastAreas:
		return "ESME_RINVNUMBCAST_AREAS"
	case StatusInvBcastCntType:
		return "ESME_RINVBCASTCNTTYPE"
	case StatusInvBcastMsgClass:
		return "ESME_RINVBCASTMSGCLASS"
	case StatusBcastFail:
		return "ESME_RBCASTFAIL"
	case StatusBcastQueryFail:
		return "ESME_RBCASTQUERYFAIL"
	case StatusBcastCancelFail:
		return "ESME_RBCASTCANCELFAIL"
	case StatusInvBcastRep:
		return "ESME_RINVBCAST_REP"
	case StatusInvBcastSrvGrp:
		return "ESME_RINVBCASTSRVGRP"
	case StatusInvBcastChanInd:
		return "ESME_RINVBCASTCHANIND"
	}
	return ""
}
