import { afterAll, describe, expect, test } from '@jest/globals';
import { closeParser } from '../../../src/imports/sources/common/parser.js';
import { openGoogleDocsSource } from '../../../src/imports/sources/google-docs/source.js';
import { docx, xlsx } from '../../media/office.js';
import { bundleOf, faultOf, linkOf, readAll, treeOf } from './bundle.js';

afterAll(closeParser);

const DOC = `<html><head><meta content="text/html; charset=UTF-8" http-equiv="content-type"><style type="text/css">ol{margin:0}.c1{font-weight:700}.c2{font-style:italic}.c3{text-decoration:underline}.c4{color:#000;font-weight:400}.c5{text-align:center}</style></head>
<body class="c9 doc-content"><p class="c0 title" id="h.1"><span class="c1">My Document</span></p>
<h1 class="c0" id="h.2"><span class="c1">Head</span></h1>
<p class="c0"><span class="c4">plain </span><span class="c1">bold</span><span class="c2"> it</span><span class="c3"> u</span><span class="c3"><a class="c8" href="https://www.google.com/url?q=https://a.example/x?b%3D1%26c%3D2&amp;sa=D&amp;source=editors&amp;ust=1&amp;usg=z">link</a></span><sup><a href="#ftnt1" id="ftnt_ref1">[1]</a></sup></p>
<ul class="c6 lst-kix_ab-0 start"><li class="c0 li-bullet-0"><span>one</span></li></ul><ul class="c6 lst-kix_ab-1 start"><li class="c0"><span>inner</span></li></ul><ul class="c6 lst-kix_ab-0"><li class="c0"><span>two</span></li></ul>
<p class="c0"><span style="overflow: hidden"><img alt="shot" src="images/image1.png" style="width: 1px" title=""></span></p>
<table class="c7"><tr><td class="c5" colspan="2" rowspan="1"><p><span>cell</span></p></td></tr></table>
<hr class="c10"><div><p class="c0"><a href="#ftnt_ref1" id="ftnt1">[1]</a><span>&nbsp;The note</span></p></div></body></html>`;

describe('an export of Google Docs', () => {
  test('keeps the formats of classes of a web page', async () => {
    const { source, content } = await readAll(openGoogleDocsSource, {
      'MyDocument.html': DOC,
      'images/image1.png': Buffer.from([1]),
    });
    expect(treeOf(source)).toEqual(['document MyDocument', '  file image1.png']);
    const { title, html = '' } = content('MyDocument.html');
    const flat = html.replace(/\n/g, '');
    expect(title).toBe('My Document');
    expect(flat).toContain(
      '<h1>Head</h1><p>plain <strong>bold</strong><em> it</em><u> u</u><a href="https://a.example/x?b=1&amp;c=2">link</a>',
    );
    expect(flat).toContain('<sup><a href="#fn-ftnt1" id="fnref-ftnt1">[1]</a></sup>');
    expect(flat).toContain('<a href="#fnref-ftnt1" id="fn-ftnt1">[1]</a>');
    expect(flat).toContain('<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>');
    expect(flat).toContain('<td colspan="2" rowspan="1" align="center"><p>cell</p></td>');
    expect(flat).not.toContain('My Document');
    expect(linkOf(source, 'MyDocument.html', 'images/image1.png')).toBe('images/image1.png');
    expect(linkOf(source, 'MyDocument.html', 'https://www.google.com/url?q=https://a.example/')).toBe('outside');
  });

  test('contains documents, sheets and files of a Drive folder', async () => {
    const { source, content } = await readAll(openGoogleDocsSource, {
      'Drive/Notes.docx': await docx('words'),
      'Drive/Broken.docx': 'x',
      'Drive/Sums.xlsx': xlsx({ One: [['a'], [1]], Two: [['b'], [2]] }),
      'Drive/list.csv': 'a,b\n1,2\n',
      'Drive/pic.png': Buffer.from([1]),
    });
    expect(treeOf(source).sort()).toEqual(
      [
        'folder Drive',
        '  document Notes',
        '  document Broken',
        '  folder Sums',
        '  table list',
        '  file pic.png',
        '    table One',
        '    table Two',
      ].sort(),
    );
    expect(content('Drive/Notes.docx').html).toContain('<p>words</p>');
    expect(content('Drive/Sums.xlsx#Two').json).toMatchObject({ rows: [[2]] });
    expect(content('Drive/list.csv').json).toMatchObject({ rows: [[1, 2]] });
    expect(() => content('Drive/Broken.docx')).toThrow(/broken_document|archive|Broken/);
  });

  test('is refused without readable files', async () => {
    expect(await faultOf(openGoogleDocsSource(bundleOf({ 'a.png': 'x' }), {}))).toBe('no_pages');
  });
});
