import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { AppError } from '@commonplace/kit/errors';
import type { Deprecation } from '@commonplace/proto/gateway/v1/capability_service.js';
import { shapesOf } from './descriptors/shape.js';
import type { Route } from './routes.js';

/** Dates on which the previous version's names were replaced, and from which they may be removed (api: 1.9). */
const DEPRECATED_AT = '2026-11-24';
const SUNSET = '2027-12-01';

/** Returns whether a field of an answer exists only for clients of the previous version. */
export function isDeprecated(field: DescField): boolean {
  return field.deprecated;
}

/** Returns the headers of an answer to a request that uses a name of the previous version (RFC 9745, RFC 8594). */
export function deprecationHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return {
    Deprecation: `@${Date.parse(DEPRECATED_AT) / 1000}`,
    Sunset: new Date(SUNSET).toUTCString(),
    Link: `<${publicUrl}/docs/changelog>; rel="deprecation"`,
  };
}

/**
 * Returns a copy of an error in which fields have the names that the client sent. `sent` maps current names to them.
 */
export function withNamesSent(error: unknown, sent: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, reason, message, details, retryAfter, cause } = error;
  const nameSent = (param: string) => sent[param] ?? param;
  return new AppError(code, reason, message, {
    details,
    cause,
    faults: error.faults.map((fault) => ({ ...fault, param: nameSent(fault.param) })),
    ...(error.param === undefined ? {} : { param: nameSent(error.param) }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

/** Lists the names of the previous version that the contract still accepts in requests or writes in answers. */
export function listDeprecations(routes: readonly Route[]): Deprecation[] {
  const requests = routes.flatMap(({ method, path, descriptor, contract }) =>
    shapesOf(contract, descriptor.input)
      .filter(({ rules }) => rules.former !== '')
      .map(({ name, rules }) => ({ subject: `${method} ${path}: ${rules.former}`, note: `Use ${name}.` })),
  );
  const seen = new Set<DescMessage>();
  for (const { descriptor } of routes) addMessagesWithin(descriptor.output, seen);
  const answers = [...seen].flatMap(({ name, fields }) =>
    fields.filter(isDeprecated).map((field) => ({
      subject: `${name}.${field.name}`,
      note: `Use ${field.name.replace(/_id$/, '.id')}.`,
    })),
  );
  return [...requests, ...answers].map(({ subject, note }) => ({ subject, sunset: SUNSET, note }));
}

function addMessagesWithin(message: DescMessage, seen: Set<DescMessage>): void {
  if (seen.has(message)) return;
  seen.add(message);
  for (const field of message.fields) {
    if (field.message !== undefined) addMessagesWithin(field.message, seen);
  }
}
