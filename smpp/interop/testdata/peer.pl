# An SMPP peer on the foreign library Net::SMPP, under remote control.
#
#   perl peer.pl serve           an SMSC on a free loopback port; prints {"port": N}
#   perl peer.pl connect PORT    a client
#
# It takes the orders of peer.js, and prints what peer.js prints.
use strict;
use warnings;
use Encode qw(decode encode);
use IO::Select;
use JSON::PP;
use Net::SMPP;

use constant PASSWORD => 'foreign';

$| = 1;
my $json = JSON::PP->new->utf8->ascii->canonical;
my ($role, $port) = @ARGV;
my ($conn, $refusal, $submits) = (undef, 0, 0);
my @fields = qw(system_id password interface_version message_id service_type
	source_addr_ton source_addr_npi source_addr dest_addr_ton dest_addr_npi destination_addr
	esm_class protocol_id priority_flag validity_period registered_delivery data_coding);

sub show { print $json->encode($_[0]), "\n" }

sub alphabet { $_[0] == 8 ? 'UTF-16BE' : 'gsm0338' }

# record is what the library read of a PDU.
sub record {
	my ($pdu) = @_;
	my $known = Net::SMPP::pdu_tab->{$pdu->{cmd}};
	my %r = (command => $known ? $known->{cmd} : 'unknown',
		command_status => $pdu->{status}, sequence_number => $pdu->{seq});
	defined $pdu->{$_} and $r{$_} = $pdu->{$_} for @fields;
	if (defined $pdu->{short_message}) {
		my $octets = $pdu->{short_message};
		if ($pdu->{esm_class} & Net::SMPP::ESM_feature_UDHI) {
			my $header = substr($octets, 0, 1 + ord $octets, '');
			$r{udh} = unpack 'H*', $header;
		}
		$r{text} = decode(alphabet($pdu->{data_coding}), $octets);
	}
	$r{user_message_reference} = unpack 'n', $pdu->{user_message_reference} if defined $pdu->{user_message_reference};
	$r{receipted_message_id} = unpack 'Z*', $pdu->{receipted_message_id} if defined $pdu->{receipted_message_id};
	$r{message_state} = unpack 'C', $pdu->{message_state} if defined $pdu->{message_state};
	return \%r;
}

sub hang_up {
	close $conn;
	undef $conn;
	show({command => 'closed'});
}

sub answer {
	my ($pdu, $command) = @_;
	my @seq = (seq => $pdu->{seq});
	if ($command =~ /^bind_.*[^p]$/) {
		my $ok = $pdu->{password} eq PASSWORD;
		my $method = "${command}_resp";
		$conn->$method(@seq, system_id => 'foreign', status => $ok ? 0 : 0x0E);
		hang_up() if !$ok;
	} elsif ($command eq 'submit_sm') {
		if ($refusal) {
			$conn->submit_sm_resp(@seq, message_id => '', status => $refusal);
			$refusal = 0;
		} else {
			$conn->submit_sm_resp(@seq, message_id => 'm-' . ++$submits);
		}
	} elsif ($command eq 'deliver_sm') {
		$conn->deliver_sm_resp(@seq, message_id => '');
	} elsif ($command eq 'enquire_link') {
		$conn->enquire_link_resp(@seq);
	} elsif ($command eq 'unbind') {
		$conn->unbind_resp(@seq);
		hang_up();
	} elsif ($command eq 'unbind_resp') {
		hang_up();
	} elsif ($command eq 'unknown') {
		$conn->generic_nack(@seq, status => 0x03);
	}
}

sub obey {
	my ($order) = @_;
	if ($order->{refuse}) {
		$refusal = $order->{refuse};
		show({command => 'refusing'});
		return;
	}
	my $command = $order->{send};
	if ($command =~ /^bind_/) {
		$conn = Net::SMPP->new_connect('127.0.0.1', port => $port) or die "connect: $!";
		$conn->$command(system_id => $order->{system_id}, password => $order->{password}, async => 1);
	} elsif ($command eq 'unknown') {
		$conn->req_backend(0x1FF, '', $conn, async => 1);
	} elsif ($order->{message}) {
		my %m = %{$order->{message}};
		my $text = encode(alphabet($m{data_coding}), delete $m{text});
		my $udh = pack 'H*', delete $m{udh} // '';
		$m{user_message_reference} = pack 'n', $m{user_message_reference} if exists $m{user_message_reference};
		$m{receipted_message_id} = pack 'Z*', $m{receipted_message_id} if exists $m{receipted_message_id};
		$m{message_state} = pack 'C', $m{message_state} if exists $m{message_state};
		$conn->$command(%m, short_message => $udh . $text, async => 1);
	} else {
		$conn->$command(async => 1);
	}
}

my $listener;
if ($role eq 'serve') {
	$listener = Net::SMPP->new_listen('127.0.0.1', port => 0) or die "listen: $!";
	show({port => $listener->sockport});
}
my $input = '';
while (1) {
	for my $ready (IO::Select->new(grep {defined} \*STDIN, $listener, $conn)->can_read) {
		if ($ready == \*STDIN) {
			sysread(STDIN, $input, 65536, length $input) or exit 0;
			obey($json->decode($1)) while $input =~ s/^(.*)\n//;
		} elsif ($listener && $ready == $listener) {
			$conn = $listener->accept or die "accept: $!";
		} elsif ($conn && $ready == $conn) {
			my $pdu = $conn->read_pdu;
			if (!$pdu) {
				hang_up();
				next;
			}
			my $r = record($pdu);
			show($r);
			answer($pdu, $r->{command});
		}
	}
}
