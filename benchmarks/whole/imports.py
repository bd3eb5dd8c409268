"""Import what a program of some size imports."""

import importlib

NAMES = (
    "asyncio concurrent.futures csv ctypes decimal difflib email.message email.mime.text "
    "http.client http.server json.tool logging.config multiprocessing.pool pdb pydoc sqlite3 ssl "
    "tarfile tempfile unittest.mock urllib.request uuid wsgiref.simple_server "
    "xml.dom.minidom xml.etree.ElementTree xmlrpc.client zipfile zoneinfo"
)
print(len([importlib.import_module(name) for name in NAMES.split()]))
