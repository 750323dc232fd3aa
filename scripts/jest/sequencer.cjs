const inOrder = require('./in-order.cjs');

/** What takes longest, that it starts first and no worker is alone with it at the end: a new machine knows no times. */
module.exports = inOrder([
  'gateway/test/browser/hostile',
  'services/resources/test/access-property',
  'acceptance/test/bad-input',
  'acceptance/test/gates',
  'acceptance/test/browser/visitors',
  'cli/test/doctor',
  'acceptance/test/import-handbook',
  'acceptance/test/forms-kill',
  'acceptance/test/killed',
  'gateway/test/browser/pages',
  'cli/test/serving',
  'services/resources/test/documents/properties',
  'acceptance/test/process',
  'services/resources/test/publication-property',
  'services/search/test/sqlite-file',
]);
