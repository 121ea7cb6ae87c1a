package pdu

// Parts of esm_class (SMPP 3.4 section 5.2.12).
const (
	ESMClassModeMask  uint8 = 0x03 // messaging mode, in submit_sm: 0 default, 1 datagram, 2 forward, 3 store and forward
	ESMClassTypeMask  uint8 = 0x3C // message type
	ESMClassReceipt   uint8 = 0x04 // type in deliver_sm and data_sm: delivery receipt
	ESMClassInterim   uint8 = 0x20 // type in deliver_sm and data_sm: intermediate notification
	ESMClassUDHI      uint8 = 0x40 // short_message starts with a user data header
	ESMClassReplyPath uint8 = 0x80 // reply path is set
)

// Parts of registered_delivery (SMPP 3.4 section 5.2.17).
const (
	RegisteredReceiptMask  uint8 = 0x03 // receipts of the SMSC
	RegisteredReceipt      uint8 = 0x01 // a receipt for success and failure
	RegisteredReceiptError uint8 = 0x02 // a receipt for failure only
	RegisteredInterim      uint8 = 0x10 // intermediate notifications
)
