package pdu

import "fmt"

// Kind says how the value of a TLV is to be read.
type Kind uint8

// The kinds of values. Integers are unsigned and big-endian.
const (
	KindUnknown Kind = iota // the tag is a vendor's or reserved
	KindUint8               // an integer, a bit mask or an enumeration of one octet
	KindUint16              // an integer of two octets
	KindUint32              // an integer of four octets
	KindCString             // octets that end with a NUL, which some peers leave out
	KindOctets              // octets with a structure of their own or with none
)

// String returns the kind in the words of the specification.
func (k Kind) String() string {
	switch k {
	case KindUint8:
		return "1-octet integer"
	case KindUint16:
		return "2-octet integer"
	case KindUint32:
		return "4-octet integer"
	case KindCString:
		return "C-octet string"
	case KindOctets:
		return "octet string"
	case KindUnknown:
	}
	return "unknown"
}

// Width returns the length of an integer kind in octets, or 0 for the others.
func (k Kind) Width() int {
	switch k {
	case KindUint8:
		return 1
	case KindUint16:
		return 2
	case KindUint32:
		return 4
	case KindUnknown, KindCString, KindOctets:
	}
	return 0
}

// Kind returns how the value of a TLV with this tag is to be read.
func (t Tag) Kind() Kind {
	kind, _ := t.describe()
	return kind
}

// String returns the name in the specification, or the number as "0x1400".
func (t Tag) String() string {
	if _, name := t.describe(); name != "" {
		return name
	}
	return fmt.Sprintf("0x%04X", uint16(t))
}

// describe is the table of all tags. ms_validity is an integer in SMPP 3.4 and
// has one or four octets in SMPP 5.0; alert_on_message_delivery is empty in 3.4
// and has one octet in 5.0. Both count as octet strings.
func (t Tag) describe() (Kind, string) {
	switch t {
	case TagDestAddrSubunit:
		return KindUint8, "dest_addr_subunit"
	case TagDestNetworkType:
		return KindUint8, "dest_network_type"
	case TagDestBearerType:
		return KindUint8, "dest_bearer_type"
	case TagDestTelematicsID:
		return KindUint16, "dest_telematics_id"
	case TagSourceAddrSubunit:
		return KindUint8, "source_addr_subunit"
	case TagSourceNetworkType:
		return KindUint8, "source_network_type"
	case TagSourceBearerType:
		return KindUint8, "source_bearer_type"
	case TagSourceTelematicsID:
		return KindUint8, "source_telematics_id"
	case TagQosTimeToLive:
		return KindUint32, "qos_time_to_live"
	case TagPayloadType:
		return KindUint8, "payload_type"
	case TagAdditionalStatusInfoText:
		return KindCString, "additional_status_info_text"
	case TagReceiptedMessageID:
		return KindCString, "receipted_message_id"
	case TagMsMsgWaitFacilities:
		return KindUint8, "ms_msg_wait_facilities"
	case TagPrivacyIndicator:
		return KindUint8, "privacy_indicator"
	case TagSourceSubaddress:
		return KindOctets, "source_subaddress"
	case TagDestSubaddress:
		return KindOctets, "dest_subaddress"
	case TagUserMessageReference:
		return KindUint16, "user_message_reference"
	case TagUserResponseCode:
		return KindUint8, "user_response_code"
	case TagSourcePort:
		return KindUint16, "source_port"
	case TagDestinationPort:
		return KindUint16, "destination_port"
	case TagSarMsgRefNum:
		return KindUint16, "sar_msg_ref_num"
	case TagLanguageIndicator:
		return KindUint8, "language_indicator"
	case TagSarTotalSegments:
		return KindUint8, "sar_total_segments"
	case TagSarSegmentSeqnum:
		return KindUint8, "sar_segment_seqnum"
	case TagSCInterfaceVersion:
		return KindUint8, "sc_interface_version"
	case TagCallbackNumPresInd:
		return KindUint8, "callback_num_pres_ind"
	case TagCallbackNumAtag:
		return KindOctets, "callback_num_atag"
	case TagNumberOfMessages:
		return KindUint8, "number_of_messages"
	case TagCallbackNum:
		return KindOctets, "callback_num"
	case TagDpfResult:
		return KindUint8, "dpf_result"
	case TagSetDpf:
		return KindUint8, "set_dpf"
	case TagMsAvailabilityStatus:
		return KindUint8, "ms_availability_status"
	case TagNetworkErrorCode:
		return KindOctets, "network_error_code"
	case TagMessagePayload:
		return KindOctets, "message_payload"
	case TagDeliveryFailureReason:
		return KindUint8, "delivery_failure_reason"
	case TagMoreMessagesToSend:
		return KindUint8, "more_messages_to_send"
	case TagMessageState:
		return KindUint8, "message_state"
	case TagCongestionState:
		return KindUint8, "congestion_state"
	case TagUssdServiceOp:
		return KindOctets, "ussd_service_op"
	case TagBroadcastChannelIndicator:
		return KindUint8, "broadcast_channel_indicator"
	case TagBroadcastContentType:
		return KindOctets, "broadcast_content_type"
	case TagBroadcastContentTypeInfo:
		return KindOctets, "broadcast_content_type_info"
	case TagBroadcastMessageClass:
		return KindUint8, "broadcast_message_class"
	case TagBroadcastRepNum:
		return KindUint16, "broadcast_rep_num"
	case TagBroadcastFrequencyInterval:
		return KindOctets, "broadcast_frequency_interval"
	case TagBroadcastAreaIdentifier:
		return KindOctets, "broadcast_area_identifier"
	case TagBroadcastErrorStatus:
		return KindUint32, "broadcast_error_status"
	case TagBroadcastAreaSuccess:
		return KindUint8, "broadcast_area_success"
	case TagBroadcastEndTime:
		return KindCString, "broadcast_end_time"
	case TagBroadcastServiceGroup:
		return KindOctets, "broadcast_service_group"
	case TagBillingIdentification:
		return KindOctets, "billing_identification"
	case TagSourceNetworkID:
		return KindCString, "source_network_id"
	case TagDestNetworkID:
		return KindCString, "dest_network_id"
	case TagSourceNodeID:
		return KindOctets, "source_node_id"
	case TagDestNodeID:
		return KindOctets, "dest_node_id"
	case TagDestAddrNPResolution:
		return KindUint8, "dest_addr_np_resolution"
	case TagDestAddrNPInformation:
		return KindOctets, "dest_addr_np_information"
	case TagDestAddrNPCountry:
		return KindOctets, "dest_addr_np_country"
	case TagDisplayTime:
		return KindUint8, "display_time"
	case TagSmsSignal:
		return KindUint16, "sms_signal"
	case TagMsValidity:
		return KindOctets, "ms_validity"
	case TagAlertOnMessageDelivery:
		return KindUint8, "alert_on_message_delivery"
	case TagItsReplyType:
		return KindUint8, "its_reply_type"
	case TagItsSessionInfo:
		return KindOctets, "its_session_info"
	}
	return KindUnknown, ""
}
