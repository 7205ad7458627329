/* The least an HTTP server can do: one process, one epoll loop, a fixed answer with the header fields that Hearth sends.
 * The yardstick for `return 'ok'`: what a request costs more than this is ours to explain.
 *
 * cc -O2 -o epoll epoll.c; ./epoll        prints the port of 127.0.0.1 that it listens on
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512, INPUT = 16384, MOST_PIPELINED = 64 };

static char answer[256];
static size_t answer_length;

/* The Date field changes once a second. */
static void renew_answer(void)
{
	static time_t last;
	struct timespec now;
	char date[64];

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (now.tv_sec == last) {
		return;
	}
	last = now.tv_sec;
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&last));
	answer_length = (size_t) snprintf(answer, sizeof answer,
		"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=UTF-8\r\ncontent-length: 2\r\ndate: %s\r\n\r\nok", date);
}

/* How many requests end in what was read: bodies are not expected here. */
static int count_requests(const char *input, size_t length)
{
	const char *at = input, *end = input + length;
	int count = 0;

	while (count < MOST_PIPELINED && (at = memmem(at, (size_t) (end - at), "\r\n\r\n", 4))) {
		count++;
		at += 4;
	}
	return count;
}

/* False when the connection is over. */
static int serve(int connection)
{
	static char input[INPUT], output[MOST_PIPELINED * sizeof answer];
	ssize_t length = read(connection, input, sizeof input);
	size_t size = 0;
	int count;

	if (length <= 0) {
		return length < 0 && errno == EAGAIN;
	}
	renew_answer();
	for (count = count_requests(input, (size_t) length); count > 0; count--) {
		memcpy(output + size, answer, answer_length);
		size += answer_length;
	}
	return size == 0 || write(connection, output, size) == (ssize_t) size;
}

static void add(int poll, int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
	epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
}

static int listen_somewhere(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (bind(listener, (struct sockaddr *) &address, length) || listen(listener, 4096)
			|| getsockname(listener, (struct sockaddr *) &address, &length)) {
		perror("listen");
		exit(1);
	}
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return listener;
}

static void accept_one(int poll, int listener)
{
	int one = 1, connection = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

	if (connection >= 0) {
		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		add(poll, connection);
	}
}

int main(void)
{
	struct epoll_event events[EVENTS];
	int listener = listen_somewhere(), poll = epoll_create1(0);

	add(poll, listener);
	for (;;) {
		int ready = epoll_wait(poll, events, EVENTS, -1);
		for (int i = 0; i < ready; i++) {
			int descriptor = events[i].data.fd;
			if (descriptor == listener) {
				accept_one(poll, listener);
			} else if (!serve(descriptor)) {
				close(descriptor);
			}
		}
	}
}
