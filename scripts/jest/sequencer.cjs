const inOrder = require('./in-order.cjs');

/** What takes longest, that it starts first and no worker is alone with it at the end: a new machine knows no times. */
module.exports = inOrder([
  'gateway/dist/test/browser/hostile',
  'services/resources/dist/test/access-property',
  'acceptance/dist/test/bad-input',
  'acceptance/dist/test/gates',
  'acceptance/dist/test/visitors',
  'cli/dist/test/doctor',
  'acceptance/dist/test/import-handbook',
  'acceptance/dist/test/forms-kill',
  'acceptance/dist/test/killed',
  'gateway/dist/test/browser/pages',
  'cli/dist/test/serving',
  'services/resources/dist/test/documents/properties',
  'acceptance/dist/test/process',
  'services/resources/dist/test/publication-property',
  'services/search/dist/test/sqlite-file',
]);
