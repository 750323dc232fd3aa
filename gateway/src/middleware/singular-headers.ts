import type { IncomingMessage } from 'node:http';
import { AppError, invalidField } from '@commonplace/kit/errors';
import type { Middleware } from 'koa';

/**
 * Refuses requests with headers that proxies and servers may interpret differently: a missing, repeated or malformed
 * `Host`, repeated `Authorization`, of which Node.js drops all but the first, and an `Expect` that can't be met.
 */
export function requireSingularHeaders(): Middleware {
  return ({ req }, next) => {
    const { hosts, authorizations } = countHeaders(req);
    if (hosts === 0 && !isOld(req)) throw invalidField('Host', 'missing_field', 'A request needs a Host header.');
    if (hosts > 1) throw invalidField('Host', 'invalid_value', 'A request has one Host header.');
    if (!HOST_VALUE.test(req.headers.host ?? '')) {
      throw invalidField('Host', 'invalid_value', 'Host is a name or an address, and a port if there is one.');
    }
    if (authorizations > 1) {
      throw new AppError('INVALID_ARGUMENT', 'multiple_credentials', 'Send one Authorization header.');
    }
    const { expect } = req.headers;
    if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
      throw invalidField('Expect', 'invalid_value', 'The only expectation that can be met is 100-continue.');
    }
    return next();
  };
}

/** Matches a host as in URLs (RFC 3986), but without commas, with which some proxies join two headers. */
const HOST_VALUE = /^(?:\[[\da-f:.]+\]|[\w.~%!$&'()*+;=-]*)(?::\d*)?$/i;

/** Returns whether a request is older than HTTP/1.1. HTTP/1.0 requires no Host. */
function isOld({ httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  return httpVersionMajor < 1 || (httpVersionMajor === 1 && httpVersionMinor < 1);
}

function countHeaders({ rawHeaders }: IncomingMessage): { hosts: number; authorizations: number } {
  let [hosts, authorizations] = [0, 0];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const { length } = rawHeaders[i] as string;
    if (length !== HOST.length && length !== AUTHORIZATION.length) continue;
    const name = (rawHeaders[i] as string).toLowerCase();
    if (name === HOST) hosts++;
    else if (name === AUTHORIZATION) authorizations++;
  }
  return { hosts, authorizations };
}

const HOST = 'host';
const AUTHORIZATION = 'authorization';
