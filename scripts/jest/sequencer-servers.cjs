const inOrder = require('./in-order.cjs');

/**
 * On servers: what takes longest starts first, that no worker is alone with it at the end, and what mostly waits is among
 * it. The two that fill an index with a handbook come apart: what one finds within two seconds waits behind the other.
 * Suites of one standing system come together, as it ends when nobody is left in it.
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
