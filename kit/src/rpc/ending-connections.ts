import { connect, type Http2Session } from 'node:http2';
import { PassThrough } from 'node:stream';

let mended = false;

/**
 * Lets calls end on a connection that the server has said goodbye on. Node.js sends no ping on such a one, which
 * grpc-js 1.14 takes for a dead link, on both sides: with the first keepalive that is due it drops all calls. Here such
 * a ping counts as answered; a link that dies meanwhile is noticed by the deadlines of its calls.
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

/** What sessions of clients and servers have in common, which Node.js does not export. */
function sessionPrototype(): Http2Session {
  const session = connect('http://nowhere', { createConnection: () => new PassThrough() });
  session.on('error', () => {});
  session.destroy();
  return Object.getPrototypeOf(Object.getPrototypeOf(session)) as Http2Session;
}
