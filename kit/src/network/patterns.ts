/** Patterns of addresses, without anchors, in the syntax that JavaScript and RE2 share. */
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const GROUP = '[0-9A-Fa-f]{1,4}';

export const IPV4_PATTERN = `${OCTET}(\\.${OCTET}){3}`;

const IPV6_FORMS = [
  `(${GROUP}:){7}${GROUP}`,
  `(${GROUP}:){1,7}:`,
  ...[1, 2, 3, 4, 5, 6].map((tail) => `(${GROUP}:){1,${7 - tail}}(:${GROUP}){1,${tail}}`),
  `:((:${GROUP}){1,7}|:)`,
  `::([Ff]{4}:)?${IPV4_PATTERN}`,
];
export const IPV6_PATTERN = `(${IPV6_FORMS.join('|')})`;

/** Matches an address, or a network in CIDR notation. */
export const NETWORK_PATTERN = `(${IPV4_PATTERN}(/(3[0-2]|[12]?[0-9]))?|${IPV6_PATTERN}(/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?)`;

/** Matches a network in CIDR notation. */
export const CIDR_PATTERN = `(${IPV4_PATTERN}/(3[0-2]|[12]?[0-9])|${IPV6_PATTERN}/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))`;
