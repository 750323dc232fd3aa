const inOrder = require('./in-order.cjs');

/**
 * Order of test files on servers. The longest start first, so that no worker is left alone with one at the end, and
 * files that mostly wait are mixed in. The two files that fill an index with a handbook are kept apart, because
 * searches that one expects within two seconds would be queued behind the other. Suites of the same standing system are
 * adjacent, because the system ends when no suite uses it.
 */
module.exports = inOrder([
  'acceptance/test/gates',
  'acceptance/test/links',
  'acceptance/test/handbook',
  'acceptance/test/killed',
  'acceptance/test/forms-kill',
  'acceptance/test/import-handbook',
  'acceptance/test/bad-input',
  'acceptance/test/search',
  'acceptance/test/webhooks',
  'acceptance/test/meaning',
  'acceptance/test/imports',
  'acceptance/test/domains',
  'acceptance/test/replicas',
  'acceptance/test/mesh-tls',
  'acceptance/test/bucket-crash',
  'acceptance/test/archive-import',
  'acceptance/test/members',
  'acceptance/test/places',
  'acceptance/test/tags',
  'acceptance/test/file-settings',
  'acceptance/test/forms-limits',
  'cli/test/servers/mesh',
  'cli/test/keys',
  'cli/test/publications',
]);
