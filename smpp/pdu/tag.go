package pdu

// Tag names a TLV (SMPP 3.4 section 5.3.2, SMPP 5.0 section 4.8.4). Tags 0x1400
// to 0x3FFF are for vendors.
type Tag uint16

// The tags of SMPP 3.4; the sections are those of SMPP 3.4.
const (
	TagDestAddrSubunit          Tag = 0x0005 // dest_addr_subunit, section 5.3.2.1
	TagDestNetworkType          Tag = 0x0006 // dest_network_type, section 5.3.2.3
	TagDestBearerType           Tag = 0x0007 // dest_bearer_type, section 5.3.2.5
	TagDestTelematicsID         Tag = 0x0008 // dest_telematics_id, section 5.3.2.7
	TagSourceAddrSubunit        Tag = 0x000D // source_addr_subunit, section 5.3.2.2
	TagSourceNetworkType        Tag = 0x000E // source_network_type, section 5.3.2.4
	TagSourceBearerType         Tag = 0x000F // source_bearer_type, section 5.3.2.6
	TagSourceTelematicsID       Tag = 0x0010 // source_telematics_id, section 5.3.2.8
	TagQosTimeToLive            Tag = 0x0017 // qos_time_to_live, section 5.3.2.9
	TagPayloadType              Tag = 0x0019 // payload_type, section 5.3.2.10
	TagAdditionalStatusInfoText Tag = 0x001D // additional_status_info_text, section 5.3.2.11
	TagReceiptedMessageID       Tag = 0x001E // receipted_message_id, section 5.3.2.12
	TagMsMsgWaitFacilities      Tag = 0x0030 // ms_msg_wait_facilities, section 5.3.2.13
	TagPrivacyIndicator         Tag = 0x0201 // privacy_indicator, section 5.3.2.14
	TagSourceSubaddress         Tag = 0x0202 // source_subaddress, section 5.3.2.15
	TagDestSubaddress           Tag = 0x0203 // dest_subaddress, section 5.3.2.16
	TagUserMessageReference     Tag = 0x0204 // user_message_reference, section 5.3.2.17
	TagUserResponseCode         Tag = 0x0205 // user_response_code, section 5.3.2.18
	TagSourcePort               Tag = 0x020A // source_port, section 5.3.2.20
	TagDestinationPort          Tag = 0x020B // destination_port, section 5.3.2.21
	TagSarMsgRefNum             Tag = 0x020C // sar_msg_ref_num, section 5.3.2.22
	TagLanguageIndicator        Tag = 0x020D // language_indicator, section 5.3.2.19
	TagSarTotalSegments         Tag = 0x020E // sar_total_segments, section 5.3.2.23
	TagSarSegmentSeqnum         Tag = 0x020F // sar_segment_seqnum, section 5.3.2.24
	TagSCInterfaceVersion       Tag = 0x0210 // sc_interface_version, section 5.3.2.25
	TagCallbackNumPresInd       Tag = 0x0302 // callback_num_pres_ind, section 5.3.2.37
	TagCallbackNumAtag          Tag = 0x0303 // callback_num_atag, section 5.3.2.38
	TagNumberOfMessages         Tag = 0x0304 // number_of_messages, section 5.3.2.39
	TagCallbackNum              Tag = 0x0381 // callback_num, section 5.3.2.36
	TagDpfResult                Tag = 0x0420 // dpf_result, section 5.3.2.28
	TagSetDpf                   Tag = 0x0421 // set_dpf, section 5.3.2.29
	TagMsAvailabilityStatus     Tag = 0x0422 // ms_availability_status, section 5.3.2.30
	TagNetworkErrorCode         Tag = 0x0423 // network_error_code, section 5.3.2.31
	TagMessagePayload           Tag = 0x0424 // message_payload, section 5.3.2.32
	TagDeliveryFailureReason    Tag = 0x0425 // delivery_failure_reason, section 5.3.2.33
	TagMoreMessagesToSend       Tag = 0x0426 // more_messages_to_send, section 5.3.2.34
	TagMessageState             Tag = 0x0427 // message_state, section 5.3.2.35
	TagUssdServiceOp            Tag = 0x0501 // ussd_service_op, section 5.3.2.44
	TagDisplayTime              Tag = 0x1201 // display_time, section 5.3.2.26
	TagSmsSignal                Tag = 0x1203 // sms_signal, section 5.3.2.40
	TagMsValidity               Tag = 0x1204 // ms_validity, section 5.3.2.27
	TagAlertOnMessageDelivery   Tag = 0x130C // alert_on_message_delivery, section 5.3.2.41
	TagItsReplyType             Tag = 0x1380 // its_reply_type, section 5.3.2.42
	TagItsSessionInfo           Tag = 0x1383 // its_session_info, section 5.3.2.43
)

// The tags SMPP 5.0 added; the sections are those of SMPP 5.0.
const (
	TagCongestionState            Tag = 0x0428 // congestion_state, section 4.8.4.18
	TagBroadcastChannelIndicator  Tag = 0x0600 // broadcast_channel_indicator, section 4.8.4.7
	TagBroadcastContentType       Tag = 0x0601 // broadcast_content_type, section 4.8.4.8
	TagBroadcastContentTypeInfo   Tag = 0x0602 // broadcast_content_type_info, section 4.8.4.6
	TagBroadcastMessageClass      Tag = 0x0603 // broadcast_message_class, section 4.8.4.12
	TagBroadcastRepNum            Tag = 0x0604 // broadcast_rep_num, section 4.8.4.13
	TagBroadcastFrequencyInterval Tag = 0x0605 // broadcast_frequency_interval, section 4.8.4.11
	TagBroadcastAreaIdentifier    Tag = 0x0606 // broadcast_area_identifier, section 4.8.4.4
	TagBroadcastErrorStatus       Tag = 0x0607 // broadcast_error_status, section 4.8.4.10
	TagBroadcastAreaSuccess       Tag = 0x0608 // broadcast_area_success, section 4.8.4.5
	TagBroadcastEndTime           Tag = 0x0609 // broadcast_end_time, section 4.8.4.9
	TagBroadcastServiceGroup      Tag = 0x060A // broadcast_service_group, section 4.8.4.14
	TagBillingIdentification      Tag = 0x060B // billing_identification, section 4.8.4.3
	TagSourceNetworkID            Tag = 0x060D // source_network_id, section 4.8.4.56
	TagDestNetworkID              Tag = 0x060E // dest_network_id, section 4.8.4.25
	TagSourceNodeID               Tag = 0x060F // source_node_id, section 4.8.4.58
	TagDestNodeID                 Tag = 0x0610 // dest_node_id, section 4.8.4.27
	TagDestAddrNPResolution       Tag = 0x0611 // dest_addr_np_resolution, section 4.8.4.22
	TagDestAddrNPInformation      Tag = 0x0612 // dest_addr_np_information, section 4.8.4.21
	TagDestAddrNPCountry          Tag = 0x0613 // dest_addr_np_country, section 4.8.4.20
)
