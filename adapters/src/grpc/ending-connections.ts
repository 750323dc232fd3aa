import { connect, type Http2Session } from 'node:http2';
import { PassThrough } from 'node:stream';

let mended = false;

/**
 * Patches Node.js's HTTP/2 sessions so that calls can finish on a connection on which the server has sent GOAWAY.
 * Node.js sends no pings on such a connection. grpc-js 1.14 takes that for a dead link, on both sides, and drops all
 * calls at the next keepalive. With the patch such a ping counts as answered; a link that dies meanwhile is detected by
 * the deadlines of its calls.
 */
export function letCallsEnd(): void {
  if (mended) return;
  mended = true;
  const prototype = sessionPrototype();
  const { ping } = prototype;
  function pingUnlessEnding(this: Http2Session, ...given: unknown[]): boolean {
    if (!this.closed || this.destroyed) return Reflect.apply(ping, this, given);
    const answered = given.at(-1) as (error: null, duration: number, payload: Buffer) => void;
    process.nextTick(answered, null, 0, Buffer.alloc(8));
    return true;
  }
  prototype.ping = pingUnlessEnding as typeof ping;
}

/** Returns the common prototype of client and server sessions, which Node.js does not export. */
function sessionPrototype(): Http2Session {
  const session = connect('http://nowhere', { createConnection: () => new PassThrough() });
  session.on('error', () => {});
  session.destroy();
  return Object.getPrototypeOf(Object.getPrototypeOf(session)) as Http2Session;
}
